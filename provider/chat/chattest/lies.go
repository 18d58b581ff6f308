package chattest

import "github.com/onejob-go/onejob/contract"

// A Lie is one way in which a provider does not keep the contract, and the
// reason for which it must fail to qualify.
type Lie struct {
	Name, What string
	Reason     contract.Reason
}

// Lies are all of them. Two are in what [Server.Config] gives the adapter, for
// they are the tokenizer's and the window's.
func Lies() []Lie {
	return []Lie{
		{"wraps", "wraps the answer in \"parameters\"", contract.ReasonWrapped},
		{"adds-key", "adds a top-level key", contract.ReasonExtraKey},
		{"duplicates-key", "has a key twice", contract.ReasonDuplicate},
		{"echoes-schema", "answers with the schema", contract.ReasonEcho},
		{"constant", "has the right shape and answers the same to everybody", contract.ReasonConstant},
		{"drops-system", "does not read the system prompt", contract.ReasonDropped},
		{"other-model", "is served by another model", contract.ReasonModel},
		{"one-in-ten", "breaks the schema one time in ten", contract.ReasonSchema},
		{"cuts-off", "ends before the end", contract.ReasonCut},
		{"trailing-prose", "goes on after the JSON", contract.ReasonTrailing},
		{"number-strings", "writes numbers as strings", contract.ReasonNumberText},
		{"special-tokens", "has a tokenizer that eats the literals of special tokens", contract.ReasonSpecialToken},
		{"small-window", "has a window too small for prompt and room", contract.ReasonWindow},
		{"caches", "answers from a cache though it is told not to", contract.ReasonCached},
	}
}

// HonestWays are those of providers that keep the contract: plain, slow,
// verbose, and with the keys in another order.
func HonestWays() []string { return []string{"", "slow", "verbose", "other-order"} }
