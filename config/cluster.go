package config

import (
	"fmt"

	"github.com/reprise-sim/reprise/cluster"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/setting"
)

// Cluster are the keys of `cluster:`.
type Cluster struct {
	Topology     string                    `yaml:"topology" json:"topology" doc:"aggregated: every instance prefills and decodes" enum:"aggregated"`
	NumInstances *int                      `yaml:"num_instances" json:"num_instances" doc:"instances of the engine, all in one bucket; null: 1, unless there are buckets"`
	Buckets      []cluster.BucketSettings  `yaml:"buckets" json:"buckets" doc:"isolated pools, each for a range of input lengths; null: one for all"`
	Router       routing.Settings          `yaml:"router" json:"router" doc:"who chooses the instance in a bucket"`
	GlobalRouter routing.GlobalSettings    `yaml:"global_router" json:"global_router" doc:"who chooses the bucket"`
	MetaStore    cluster.MetaStoreSettings `yaml:"meta_store" json:"meta_store" doc:"what a bucket knows of its instances' blocks"`
	Cache        cluster.CacheSettings     `yaml:"cache" json:"cache" doc:"where blocks of prompts come from besides an instance's own KV pool"`
	Scaling      Scaling                   `yaml:"scaling" json:"scaling" doc:"how the number of instances follows the load"`
	OnUnroutable string                    `yaml:"on_unroutable" json:"on_unroutable" doc:"requests that fit no bucket, where the global router needs one that fits: refuse the trace, or reject them" enum:"refuse,reject"`
}

// Scaling are the keys of `cluster.scaling:`.
type Scaling struct {
	Policy string `yaml:"policy" json:"policy" doc:"none: it does not" enum:"none"`
}

// soleBucket is the bucket of a service that has no buckets.
const soleBucket = "default"

func clusterDefaults() Cluster {
	return Cluster{
		Topology: "aggregated", Router: routing.Defaults(), GlobalRouter: routing.GlobalDefaults(),
		MetaStore: cluster.MetaStoreDefaults(), Cache: cluster.CacheDefaults(), OnUnroutable: unroutableRefuse, Scaling: Scaling{"none"},
	}
}

// What happens to requests that fit no bucket.
const (
	unroutableRefuse = "refuse"
	unroutableReject = "reject"
)

// resolve checks the section by itself and fills in the number of instances.
func (c *Cluster) resolve() error {
	var p setting.Problems
	p.Check(c.Topology == "aggregated", "topology", c.Topology, "aggregated: instances that only prefill or only decode are not built yet")
	switch {
	case c.Buckets != nil && c.NumInstances != nil:
		// Said by whoever knows where both were written.
	case c.Buckets != nil:
		add(&p, cluster.CheckBuckets(c.Buckets))
	case c.NumInstances == nil:
		one := 1
		c.NumInstances = &one
	default:
		cluster.CheckInstances(&p, "num_instances", *c.NumInstances)
	}
	p.Under("router", c.Router.Validate())
	p.Under("global_router", c.GlobalRouter.Validate())
	p.Under("meta_store", c.MetaStore.Validate())
	p.Under("cache", c.Cache.Validate())
	p.Check(c.Scaling.Policy == "none", "scaling.policy", c.Scaling.Policy, "none")
	p.Check(c.OnUnroutable == unroutableRefuse || c.OnUnroutable == unroutableReject, "on_unroutable", c.OnUnroutable, "one of refuse, reject")
	return p.Err()
}

// add adds the problems of a part that names its keys in full.
func add(p *setting.Problems, err error) {
	for _, e := range setting.All(err) {
		p.Check(false, e.Field, e.Value, e.Want)
	}
}

// checkCluster reports what does not go together with the cluster
// (spec/buckets.md 2, rules 6 and 12).
func (c *Config) checkCluster() error {
	var p setting.Problems
	if k := &c.Cluster; k.Buckets != nil && k.NumInstances != nil {
		p.Check(false, "cluster.num_instances", *k.NumInstances, "null, or cluster.buckets"+c.where("cluster.buckets")+" null: either excludes the other")
	}
	for _, tier := range []struct {
		on    bool
		field string
		value any
	}{
		{c.Cluster.Cache.Host(), "cluster.cache.l1_blocks", c.Cluster.Cache.L1Blocks},
		{c.Cluster.Cache.Remote(), "cluster.cache.remote_gbps", float64(c.Cluster.Cache.RemoteGBps)},
	} {
		if tier.on {
			p.Check(c.Engine.KVCacheBytesPerToken != nil, tier.field, tier.value, "0, or engine.kv_cache_bytes_per_token: loads are priced by the bytes of a block")
			p.Check(c.Engine.EnablePrefixCaching, tier.field, tier.value, "0, or engine.enable_prefix_caching true: a tier holds prefixes")
		}
	}
	return p.Err()
}

// where says where a key was written, "" if nobody did.
func (c *Config) where(key string) string {
	if c.reading == nil {
		return ""
	}
	o, ok := c.reading.Origin(key)
	if !ok {
		return ""
	}
	return fmt.Sprintf(" (at %s)", o.At)
}

// buckets are the buckets in order of their ids, with the instances of each; a
// service without buckets has one for all lengths.
func (c *Config) buckets() (instances []int, ranges []routing.Bucket) {
	if c.Cluster.Buckets == nil {
		instances = []int{*c.Cluster.NumInstances}
		ranges = []routing.Bucket{{Name: soleBucket, Max: routing.Unlimited}}
	} else {
		var sorted []cluster.BucketSettings
		sorted, ranges = cluster.ByLength(c.Cluster.Buckets)
		for i := range sorted {
			instances = append(instances, sorted[i].NumInstances)
		}
	}
	for i := range ranges {
		ranges[i].MaxSeqs, ranges[i].BlockSize = int32(c.Engine.MaxNumSeqs), int32(c.Engine.BlockSize)
	}
	return instances, ranges
}

// bucketNames are the names of buckets.
func bucketNames(ranges []routing.Bucket) []string {
	names := make([]string, len(ranges))
	for i := range ranges {
		names[i] = ranges[i].Name
	}
	return names
}
