# Writes OUTPUT, a header with the commit of the sources in SOURCE; run by every build, and changed only with the commit.
cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND git describe --always --dirty --exclude=* WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE commit
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit "")  # an archive of the sources
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#pragma once\n#define QW_COMMIT \"@commit@\"\n" @ONLY)
