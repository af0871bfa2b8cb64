// Our sparse times dense against cuSPARSE's, on matrices shaped like those of the data sets: one line per
// case.
//   qw_spmm_cuda_bench [most entries]
// Times are of calls inside a replayed graph; cuSPARSE has its descriptors made and its matrix preprocessed
// before, and 32-bit offsets.
#include <cuda_runtime.h>
#include <cusparse.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "kernels/spmm.h"

namespace {

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(status));
  std::exit(1);
}

template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(int64_t size) : size_(size) {
    check(cudaMalloc(&data_, std::max<int64_t>(1, size) * sizeof(T)));
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(static_cast<int64_t>(values.size())) {
    check(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }
  T* get() const { return data_; }
  std::vector<T> host() const {
    std::vector<T> values(size_);
    check(cudaMemcpy(values.data(), data_, values.size() * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  T* data_ = nullptr;
  int64_t size_;
};

uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

std::vector<float> random_floats(int64_t size, uint64_t seed) {
  std::vector<float> values(size);
  for (int64_t i = 0; i < size; ++i)
    values[i] = static_cast<float>(mixed(seed + i) >> 40) / static_cast<float>(1 << 24) - 0.5f;
  return values;
}

// The row of rank r has a length in proportion to (r + 1)^-exponent; ranks are spread over the rows.
struct Shape {
  const char* name;
  int64_t rows, columns, entries;
  double exponent;
};

struct Matrix {
  Shape shape;
  std::vector<int64_t> offsets{0};
  std::vector<int32_t> columns;

  explicit Matrix(const Shape& of) : shape(of) {
    double sum = 0;
    for (int64_t r = 0; r < of.rows; ++r) sum += std::pow(r + 1.0, -of.exponent);
    std::vector<int64_t> lengths(of.rows);
    const int64_t step = 1000003;  // a prime that divides none of the numbers of rows
    for (int64_t r = 0; r < of.rows; ++r) {
      const double share = std::pow(r + 1.0, -of.exponent) / sum;
      lengths[r * step % of.rows] =
          std::min<int64_t>(of.columns, std::llround(share * static_cast<double>(of.entries)));
    }
    for (const int64_t length : lengths) offsets.push_back(offsets.back() + length);
    columns.resize(offsets.back());
    for (size_t k = 0; k < columns.size(); ++k)
      columns[k] = static_cast<int32_t>(mixed(k) % static_cast<uint64_t>(of.columns));
    for (int64_t r = 0; r < of.rows; ++r) {
      std::sort(columns.begin() + offsets[r], columns.begin() + offsets[r + 1]);
    }
  }
};

// Microseconds of one call.
double time_of(const std::function<void(cudaStream_t)>& call, int64_t entries) {
  const int calls = entries < (1 << 22) ? 20 : 2;
  cudaStream_t stream;
  check(cudaStreamCreate(&stream));
  call(stream);
  check(cudaStreamSynchronize(stream));
  cudaGraph_t graph;
  cudaGraphExec_t replayed;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < calls; ++i) call(stream);
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&replayed, graph, 0));
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  std::vector<float> times;
  for (int repetition = 0; repetition < 7; ++repetition) {
    check(cudaEventRecord(begin, stream));
    check(cudaGraphLaunch(replayed, stream));
    check(cudaEventRecord(end, stream));
    check(cudaEventSynchronize(end));
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin, end));
    times.push_back(milliseconds);
  }
  std::sort(times.begin(), times.end());
  check(cudaEventDestroy(begin));
  check(cudaEventDestroy(end));
  check(cudaGraphExecDestroy(replayed));
  check(cudaGraphDestroy(graph));
  check(cudaStreamDestroy(stream));
  return times[times.size() / 2] * 1000.0 / calls;
}

struct Problem {
  const Matrix& matrix;
  int64_t width;
  DeviceArray<int64_t> offsets;
  DeviceArray<int32_t> short_offsets;
  DeviceArray<int32_t> columns;
  DeviceArray<float> values;
  DeviceArray<float> dense;
  DeviceArray<float> result;

  Problem(const Matrix& of, int64_t wide)
      : matrix(of),
        width(wide),
        offsets(of.offsets),
        short_offsets(std::vector<int32_t>(of.offsets.begin(), of.offsets.end())),
        columns(of.columns),
        values(random_floats(entries(), 1)),
        dense(random_floats(of.shape.columns * wide, 2)),
        result(of.shape.rows * wide) {}

  int64_t entries() const { return static_cast<int64_t>(matrix.columns.size()); }

  double our_time() const {
    const qw::kernels::CsrView<float> view{offsets.get(), columns.get(), values.get(), nullptr,
                                           matrix.shape.rows};
    return time_of(
        [&](cudaStream_t stream) {
          qw::kernels::spmm_cuda<float>(view, entries(), dense.get(), width, result.get(), {}, stream);
        },
        entries());
  }

  // -1: cuSPARSE would not.
  double cusparse_time(cusparseHandle_t handle, cusparseSpMMAlg_t algorithm) const {
    const Shape& shape = matrix.shape;
    cusparseSpMatDescr_t sparse;
    cusparseDnMatDescr_t in, out;
    cusparseCreateCsr(&sparse, shape.rows, shape.columns, entries(), short_offsets.get(), columns.get(),
                      values.get(), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                      CUDA_R_32F);
    cusparseCreateDnMat(&in, shape.columns, width, width, dense.get(), CUDA_R_32F, CUSPARSE_ORDER_ROW);
    cusparseCreateDnMat(&out, shape.rows, width, width, result.get(), CUDA_R_32F, CUSPARSE_ORDER_ROW);
    const float one = 1, zero = 0;
    constexpr auto kPlain = CUSPARSE_OPERATION_NON_TRANSPOSE;
    size_t bytes = 0;
    double time = -1;
    if (cusparseSpMM_bufferSize(handle, kPlain, kPlain, &one, sparse, in, &zero, out, CUDA_R_32F, algorithm,
                                &bytes) == CUSPARSE_STATUS_SUCCESS) {
      const DeviceArray<char> buffer(static_cast<int64_t>(bytes));
      cusparseSetStream(handle, nullptr);
      cusparseSpMM_preprocess(handle, kPlain, kPlain, &one, sparse, in, &zero, out, CUDA_R_32F, algorithm,
                              buffer.get());
      const auto call = [&](cudaStream_t stream) {
        cusparseSetStream(handle, stream);
        return cusparseSpMM(handle, kPlain, kPlain, &one, sparse, in, &zero, out, CUDA_R_32F, algorithm,
                            buffer.get());
      };
      if (call(nullptr) == CUSPARSE_STATUS_SUCCESS) time = time_of(call, entries());
    }
    cusparseDestroyDnMat(in);
    cusparseDestroyDnMat(out);
    cusparseDestroySpMat(sparse);
    return time;
  }

  // What is read and written, the rows of `dense` once per entry, from whichever cache.
  double bytes() const {
    const double rows = static_cast<double>(matrix.shape.rows), row_bytes = 4.0 * static_cast<double>(width);
    const double index = 8 * rows + 8.0 * static_cast<double>(entries());
    return index + row_bytes * (rows + static_cast<double>(entries()));
  }
};

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, largest = 1e-30;
  for (size_t i = 0; i < a.size(); ++i) {
    difference = std::max<double>(difference, std::abs(a[i] - b[i]));
    largest = std::max<double>(largest, std::abs(b[i]));
  }
  return difference / largest;
}

}  // namespace

int main(int count, char** arguments) {
  const int64_t most = count > 1 ? std::atoll(arguments[1]) : INT64_MAX;
  const Shape shapes[] = {{"cora", 2708, 2708, 13264, 0.5},
                          {"cora features^T", 1433, 2708, 49216, 0.5},
                          {"computers feat.", 13752, 767, 3673904, 0.1},
                          {"squirrel", 5201, 5201, 396846, 0.45},
                          {"products", 2449029, 2449029, 123718280, 0.5}};
  cusparseHandle_t handle;
  if (cusparseCreate(&handle) != CUSPARSE_STATUS_SUCCESS) return 1;
  bool agree = true;
  std::printf("%-16s %5s %10s %10s %10s %10s %8s %10s\n", "matrix", "width", "us ours", "us alg1", "us alg2",
              "us alg3", "GB/s", "difference");
  for (const Shape& shape : shapes) {
    if (shape.entries > most) continue;
    const Matrix matrix(shape);
    for (const int64_t width : {7, 10, 47, 64, 256}) {
      const Problem problem(matrix, width);
      const double ours = problem.our_time();
      const std::vector<float> our_result = problem.result.host();
      const double alg1 = problem.cusparse_time(handle, CUSPARSE_SPMM_CSR_ALG1);
      const double alg3 = problem.cusparse_time(handle, CUSPARSE_SPMM_CSR_ALG3);
      const double alg2 = problem.cusparse_time(handle, CUSPARSE_SPMM_CSR_ALG2);
      const double difference = largest_difference(our_result, problem.result.host());
      agree = agree && difference < 1e-4;
      std::printf("%-16s %5ld %10.2f %10.2f %10.2f %10.2f %8.0f %10.1e\n", shape.name,
                  static_cast<long>(width), ours, alg1, alg2, alg3, problem.bytes() / ours / 1000,
                  difference);
      std::fflush(stdout);
    }
  }
  cusparseDestroy(handle);
  return agree ? 0 : 1;
}
