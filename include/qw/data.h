// All of qw/data: data sets from files and by name.
#pragma once

#include "qw/data/card.h"
#include "qw/data/check.h"
#include "qw/data/download.h"
#include "qw/data/load.h"
#include "qw/data/make_partition.h"
#include "qw/data/partition.h"
#include "qw/data/save.h"
#include "qw/data/schema.h"
#include "qw/data/trained_on.h"
