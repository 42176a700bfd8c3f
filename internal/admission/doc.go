// Package admission says whether a task definition can share a GPU safely, before it runs.
//
// [Read] finds the task definitions in what people have (API JSON, CloudFormation and SAM, Terraform plans),
// [Lint] applies the rules to them, and [Fix] writes the changes that are safe. All three are pure: bytes and
// values in, values out. Every value keeps the place it was read from, so a finding points at a line and column.
//
// [Record] is what was found in a registered revision, and [Records] the port of where it is kept.
//
// Each rule lives in [Rules] with its id, severity, title, why and fix; docs/rules is generated from the same
// fields. What differs from shop to shop (cards, thresholds, rules switched off) is a [Policy].
package admission
