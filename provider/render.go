package provider

// Renderer is for a provider that makes a prompt of params: package contract
// looks at it before anything is called.
type Renderer interface {
	// Render makes the prompt that Call would send for these params.
	Render(params []byte) (Prompt, error)
}

// Prompt is what a model gets to read.
type Prompt struct {
	Messages []Message
	// Room is how many tokens the output may take. Zero: no limit was set.
	Room int
}

// Message is one part of a prompt, in the form of the chat API.
type Message struct {
	Role    string `json:"role"` // system, user, assistant
	Content string `json:"content"`
}

// Tokenizing is for a provider whose tokenizer is at hand.
type Tokenizing interface {
	// Tokenizer returns it, or nil, and how many tokens prompt and output may
	// have together; zero says that this is not known.
	Tokenizer() (t Tokenizer, window int)
}

// Tokenizer is a model's own. Package contract/tiktoken has those of OpenAI's
// models.
type Tokenizer interface {
	// Encode takes text as text: what looks like a special token in it is not one.
	Encode(text string) ([]int, error)
	Decode(tokens []int) (string, error)
}
