// SPDX-License-Identifier: Apache-2.0
//
// Where commands speak: answers on standard output, trouble on standard error.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace corehold {

// Writes the whole answer and returns the exit code: 0, or 1 with a complaint when it
// could not be written (full disk, closed pipe).
int answer(std::string_view text);

// "corehold: message" on one line of standard error. The message may hold names from
// files: control characters in it, newlines too, are shown escaped.
void complain(std::string_view message);

// The same without "corehold: ", for lines that begin with the place they speak of:
// "file.yaml:3: ...".
void report(std::string_view line);

// What would break the line or be interpreted by a terminal (control characters, also
// those beyond ASCII, and bytes that are not UTF-8) as Go escapes it: \n, \x1b.
std::string on_one_line(std::string_view message);

// The same, and "-" for nothing: a cell of a table.
std::string or_dash(std::string_view text);

// Complains and returns the exit code for it, 1.
int fail(const Error& error);

// The same, but what is kInvalid is bad usage: it refers to the help of `command` ("get pods")
// and returns 2.
int fail_usage(const Error& error, std::string_view command);

// What was given on the command line or in a file and cannot be meant: kInvalid.
Error bad_argument(std::string message);

// Makes a closed pipe a failed write instead of a silent death by SIGPIPE.
void ignore_broken_pipes();

}  // namespace corehold
