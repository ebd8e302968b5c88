// Package keys reads settings structs from YAML, strictly.
//
// A [Reading] fills one struct that holds its defaults: files and key=value
// arguments are laid over it one after the other, key by key. Whatever is wrong is
// collected as a [Problem] that says where it stands; problems that a part finds in
// its own settings ([setting.Error]) are traced back to the place that gave the
// value. [Walk] tells the same keys to whoever describes them.
//
// It knows the tags yaml, doc and enum of a struct and nothing of what settings
// mean.
package keys
