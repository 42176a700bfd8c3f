package awsops

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
)

// Options of the adapters.
type Options struct {
	Bucket string // of the evidence; empty keeps none
	Hook   string // name of Bulkhead's lifecycle hook; empty is DefaultHook
	Clock  func() time.Time
}

// Open makes the clients of one account and Region. With cfg.BaseEndpoint all of them
// speak to one address, as a simulated fleet has it; one that has no S3 is given no
// bucket.
func Open(cfg aws.Config, o Options) *Ops {
	out := &Ops{ECS: ecs.NewFromConfig(cfg), EC2: ec2.NewFromConfig(cfg), Groups: autoscaling.NewFromConfig(cfg), SSM: ssm.NewFromConfig(cfg),
		Bucket: o.Bucket, Hook: o.Hook, Clock: o.Clock, Modify: ModifyBudget()}
	if out.Hook == "" {
		out.Hook = DefaultHook
	}
	if o.Bucket != "" {
		out.S3 = s3.NewFromConfig(cfg)
	}
	return out
}
