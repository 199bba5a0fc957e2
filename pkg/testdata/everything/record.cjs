// node -r record.cjs SERVER: the server, which appends all it reads from standard
// input to the file $RECORD.
const { appendFileSync } = require('node:fs')
const emit = process.stdin.emit
process.stdin.emit = function (event, data) {
  if (event === 'data') appendFileSync(process.env.RECORD, data)
  return emit.apply(this, arguments)
}
