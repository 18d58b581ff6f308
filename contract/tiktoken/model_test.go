package tiktoken_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/contract/tiktoken"
)

func TestAModelHasItsVendorsEncoding(t *testing.T) {
	t.Parallel()
	for encodingName, models := range map[string][]string{
		"o200k_base": {"gpt-4o", "gpt-4o-mini", "gpt-4o-2024-05-13", "chatgpt-4o-latest", "gpt-4.1", "gpt-4.1-mini", "gpt-4.5-preview",
			"gpt-5", "gpt-5-nano", "gpt-5-2025-08-07", "o1", "o1-pro", "o3", "o3-mini", "o4-mini", "o4-mini-2025-04-16",
			"ft:gpt-4o", "ft:gpt-4o-mini-2024-07-18:acme::id", "ft:gpt-4.1-nano:acme:name:id"},
		"o200k_harmony": {"gpt-oss-20b", "gpt-oss-120b"},
		"cl100k_base": {"gpt-4", "gpt-4-0613", "gpt-4-turbo", "gpt-4-32k", "gpt-3.5-turbo", "gpt-3.5-turbo-0125", "gpt-3.5", "gpt-35-turbo",
			"gpt-35-turbo-16k", "davinci-002", "babbage-002", "text-embedding-ada-002", "text-embedding-3-small", "text-embedding-3-large",
			"ft:gpt-4", "ft:gpt-4-0613:acme::id", "ft:gpt-3.5-turbo", "ft:gpt-3.5-turbo-0125:acme::id", "ft:davinci-002:acme::id"},
		"p50k_base": {"text-davinci-003", "code-davinci-002"},
		"p50k_edit": {"text-davinci-edit-001"},
		"r50k_base": {"davinci", "ada", "text-ada-001"},
		"gpt2":      {"gpt2"},
	} {
		for _, model := range models {
			e, err := tiktoken.ForModel(model)
			require.NoError(t, err, model)
			require.Same(t, encoding(t, encodingName), e, model)
		}
	}
}

func TestAnErrorSaysWhatIsUnknownAndWhatToDo(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"", "large-2", "gpt-4x", "GPT-4o", "ft:", "ft:large-2:acme::id", "ft:gpt-4x:acme::id"} {
		e, err := tiktoken.ForModel(model)
		require.Nil(t, e)
		require.ErrorContains(t, err, `model "`+model+`" is not known: use Encoding`)
	}
	for _, name := range []string{"", "cl100k", "O200K_BASE"} {
		e, err := tiktoken.Encoding(name)
		require.Nil(t, e)
		require.ErrorContains(t, err, `encoding "`+name+`" is not known: use the name that the model's vendor documents`)
		require.ErrorContains(t, err, "cl100k_base, gpt2, o200k_base")
	}
}
