// Which names the libraries export: those of the public headers, which open the namespace as
// `namespace QW_PUBLIC qw`. All else is hidden.
#pragma once

// Stands between `namespace` and `qw` in public headers.
#define QW_PUBLIC [[gnu::visibility("default")]]
