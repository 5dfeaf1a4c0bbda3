package weir_test

import (
	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

var (
	_ weir.Clock = (*clock.Mock)(nil)
	_            = assert.Equal
	_            = require.Equal
)
