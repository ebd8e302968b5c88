// Package arch is what a language model is made of.
//
// A [Model] is a stack of [Layer] groups, each an attention and a feed-forward part;
// it counts parameters by component and says in which number format a checkpoint
// keeps each. [ReadConfig] reads a Hugging Face config.json and refuses by name what
// it does not understand; [Find] looks a model up in the embedded models.csv.
//
// The package knows shapes. What a pass over them costs, how they are sharded and
// on what they run is for others.
package arch
