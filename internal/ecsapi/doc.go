// Package ecsapi asks ECS, within ECS's own budgets.
//
// It is a thin adapter: it pages, batches, keeps to the token buckets that ECS
// publishes for the account and Region, maps the SDK's types to the shapes that
// package ingest reads, and its errors to ones the use cases know. It decides
// nothing.
package ecsapi
