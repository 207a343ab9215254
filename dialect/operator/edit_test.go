package operator

import "testing"

func TestSetID(t *testing.T) {
	got, err := Operator.SetID([]byte(`{"id":"a","parent_id":"b", "type":"x"}`), "c")
	if want := `{"id":"c","parent_id":"b", "type":"x"}`; err != nil || string(got) != want {
		t.Errorf("%s, %v; want no error, string(got) == %v", got, err, want)
	}
}
