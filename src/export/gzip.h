/* SPDX-License-Identifier: Apache-2.0 */
/* A protobuf message, packed and gzip'ed into an output. */
#ifndef WEFT_EXPORT_GZIP_H
#define WEFT_EXPORT_GZIP_H

#include "base/output.h"

#include <protobuf-c/protobuf-c.h>

/* 0 or -errno. */
int gzip_message(struct output *o, const ProtobufCMessage *message);

#endif
