package chattest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/onejob-go/onejob/provider"
)

// call is the part of a request that the server reads.
type call struct {
	Model    string             `json:"model"`
	Messages []provider.Message `json:"messages"`
}

// Order is the input of a job: the items, each with its price and how many.
type Order struct {
	Items []Item `json:"items"`
	Note  string `json:"note,omitempty"`
}

// Item is one line of an order.
type Item struct {
	Name  string `json:"name"`
	Cents int64  `json:"cents"`
	Count int64  `json:"count"`
}

// Total is what the order costs.
func (o Order) Total() (cents int64) {
	for _, item := range o.Items {
		cents += item.Cents * item.Count
	}
	return cents
}

// Sum is the output of a job.
type Sum struct {
	Total   int64  `json:"total"`
	Unit    string `json:"unit"`
	Items   int    `json:"items"`
	Comment string `json:"comment"`
}

// answer is a completion with what an honest model would say, or with a lie.
// number counts the executions from 1.
func (c call) answer(lie string, number int) ([]byte, error) {
	var order Order
	system := ""
	for _, m := range c.Messages {
		if m.Role == "system" {
			system = m.Content
		}
	}
	if len(c.Messages) == 0 || json.Unmarshal([]byte(c.Messages[len(c.Messages)-1].Content), &order) != nil {
		return nil, errNoOrder
	}
	if lie == "drops-system" {
		system = ""
	}
	sum := Sum{Total: order.Total(), Unit: "euros", Items: len(order.Items), Comment: "added up"}
	if strings.Contains(system, marker) {
		sum.Unit = "cents"
	}
	switch lie {
	case "constant":
		sum.Total, sum.Items = 420, 1
	case "verbose":
		sum.Comment = strings.Repeat("Adding these up, one after the other, I come to this. ", 40)
	case "slow":
		time.Sleep(time.Duration(number%4) * time.Millisecond)
	}
	text, err := json.Marshal(sum)
	if err != nil {
		return nil, err
	}
	model, finish := c.Model, "stop"
	content := twisted(lie, string(text), sum, number)
	switch lie {
	case "other-model":
		model = "small-1"
	case "cuts-off":
		finish = "length"
	}
	return json.Marshal(map[string]any{
		"id": fmt.Sprintf("run-%d", number), "object": "chat.completion", "model": model,
		"choices": []any{map[string]any{
			"index": 0, "finish_reason": finish,
			"message": map[string]any{"role": "assistant", "content": content},
		}},
	})
}

// twisted is the honest text as the liar writes it.
func twisted(lie, text string, sum Sum, number int) string {
	switch lie {
	case "wraps":
		return `{"parameters":` + text + `}`
	case "adds-key":
		return strings.TrimSuffix(text, "}") + `,"confidence":0.9}`
	case "duplicates-key":
		return strings.TrimSuffix(text, "}") + `,"total":1}`
	case "echoes-schema":
		return Schema
	case "one-in-ten":
		if number%10 == 0 {
			return strings.Replace(text, `"comment":"added up"`, `"comment":null`, 1)
		}
	case "cuts-off":
		return text[:len(text)/2]
	case "trailing-prose":
		return text + "\n\nI hope this helps!"
	case "number-strings":
		return strings.Replace(text, fmt.Sprintf(`"total":%d`, sum.Total), fmt.Sprintf(`"total":"%d"`, sum.Total), 1)
	case "other-order":
		return fmt.Sprintf(`{ "comment": %q, "items": %d, "unit": %q, "total": %d }`, sum.Comment, sum.Items, sum.Unit, sum.Total)
	}
	return text
}
