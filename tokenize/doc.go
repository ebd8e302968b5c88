// Package tokenize turns text into token ids and back without a server: byte-level BPE
// as Hugging Face's tokenizer.json describes it, and chat templates.
//
// A [Model] is the tokenizer of a model's folder. [Model.Encode] takes text,
// [Model.Chat] a conversation; both give ids. [Model.AppendPiece] gives text. What a file asks for and this package
// does not do is refused when it is opened, never guessed. A server may still
// normalize a conversation before it renders it: ids that matter are the server's
// (spec/live.md E.2), these are for where it gives none.
package tokenize
