// SPDX-License-Identifier: Apache-2.0
//
// The lists of strategic merge patches: which elements of two lists are the same, and the
// order in which a merged list stands. Merging the elements themselves is the caller's
// (strategic_patch.cc). Everything here takes time of n log n in the lists.
#pragma once

#include <functional>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/api_result.h"

namespace corehold {

inline constexpr std::string_view kPatchDirective = "$patch";
inline constexpr std::string_view kSetElementOrder = "$setElementOrder";

// Removes directives and, from objects, nulls, all the way down: for a value that is new in
// the object. An object with "$patch" goes as a whole, as in Kubernetes. False: the value itself
// is such a one.
bool clean_new_value(boost::json::value& value);

// How an element is merged into the one with the same key.
using MergeElement =
    std::function<ApiResult<boost::json::object>(boost::json::object, boost::json::object)>;

// `original` with the elements of `patch`: scalars that are not there yet (`merge_key`
// empty), or objects, merged with those that have the same key. Those of the patch keep
// their order; what only the original has stands before the first element of the patch
// that followed it there, else last.
ApiResult<boost::json::array> merge_lists(boost::json::array original, boost::json::array patch,
                                          std::string_view merge_key, const MergeElement& merge);

// Fails unless the elements of `patch` appear in `order`, in the order they have there;
// those that are to be deleted count for nothing.
ApiResult<bool> check_element_order(const boost::json::array& patch,
                                    const boost::json::array& order, std::string_view merge_key);

// `merged` with the elements that `order` names in its order; the others as in merge_lists(),
// by their places in `original`.
ApiResult<boost::json::array> order_elements(boost::json::array merged,
                                             const boost::json::array& order,
                                             const boost::json::array& original,
                                             std::string_view merge_key);

// `list` without the values of `gone`.
boost::json::array without(const boost::json::array& list, const boost::json::array& gone);

// The failure of a value that is of another type than Go's `expected`.
ApiStatus wrong_type(std::string_view expected, const boost::json::value& value);

}  // namespace corehold
