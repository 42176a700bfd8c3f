// Package dynamo keeps the ledger in one DynamoDB table.
//
// A host is one item, read by key and written whole under one condition on its
// revision: one write unit while it is under 1 KB, atomic by nature, no
// transaction. Sort keys are strings; nothing relies on numbers in keys.
//
//	question                     partition key        sort key
//	host by id, hosts of cluster CLUSTER_ARN          host#INSTANCE_ARN
//	clusters                     clusters             CLUSTER_ARN
//	host by EC2 instance         ec2#INSTANCE_ID      host
//	host by card                 card#UUID            host
//	task definition              definition#ARN       definition
//	journal of a host by time    journal#INSTANCE_ARN TIME#REVISION
//	health of an instance        health#INSTANCE_ID   health
//	where a sweep stopped        bookmarks            NAME
//
// There is no secondary index: each would cost another write unit of every change.
// The stream (new and old images, host items only) feeds the outbox.
package dynamo
