// Package config is the configuration of a run, and the run that it describes.
//
// A [Config] is made of the settings types of the parts, each of which says what is
// wrong with its own. [Load] reads it from YAML, from the run.json of an earlier run
// and from key=value arguments; every problem names its place. [Prepare] turns a
// configuration into a [Simulation]: one small constructor for each part. [Schema]
// and [Reference] describe the keys. Nothing here prints or exits.
package config
