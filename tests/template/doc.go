// Package template tests template.yaml without deploying it: names, types and
// required properties against CloudFormation's own schemas, every rule against
// the sample events both ways, failure queues, permissions and configuration.
package template
