// Package pattern matches events against EventBridge event patterns, for tests
// that hold rules against samples and for pumps that stand in for a bus.
//
// It knows exact values, prefix, suffix, equals-ignore-case, anything-but, exists,
// numeric, wildcard and $or. A pattern that uses anything else is an error when it
// is parsed, never a rule that quietly matches nothing. As on the bus, a pattern
// through an array of objects is held against all elements together: two members
// of it may be met by two different elements.
package pattern
