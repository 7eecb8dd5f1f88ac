import JSONRPC
import Testing
import UsherAPI
import UsherCore

let started = Timestamp(milliseconds: 1_800_000_000_000)
let startedJSON = "2027-01-15T08:00:00Z"
let later = Timestamp(milliseconds: 1_800_000_060_500)
let laterJSON = "2027-01-15T08:01:00.500Z"

let word = ProviderErrorCode(name: ProviderName("work"), code: "invalid_grant")
let wordJSON = #"{"name":"work","code":"invalid_grant"}"#

/// A flow without optional members, and its JSON.
let plainFlow = Flow(
  id: FlowID("flw_1"), provider: ProviderName("work"), kind: "authorize", status: .active,
  state: "discovering", revision: 1, createdAt: started, updatedAt: started, expiresAt: later)
let plainFlowJSON = """
  {"id":"flw_1","provider":"work","kind":"authorize","status":"active","state":"discovering",
   "revision":1,"step":null,"problem":null,"result":null,"failure":null,
   "createdAt":"\(startedJSON)","updatedAt":"\(startedJSON)","expiresAt":"\(laterJSON)"}
  """

let plainAccount = Account(
  id: AccountID("acc_1"), provider: ProviderName("work"), subject: "s-1", label: "Ada", owner: 1000,
  client: nil, createdAt: started, keepAlive: false, attributes: [:], profile: nil,
  tokens: [TokenSummary(audience: nil, scope: "openid", expiresAt: nil, status: .valid)])
/// Returns the error that `body` throws; records an issue if it throws nothing.
func refusal<T>(
  sourceLocation: SourceLocation = #_sourceLocation, of body: () throws(UsherError) -> T
) -> UsherError? {
  do {
    _ = try body()
    Issue.record("the body did not throw", sourceLocation: sourceLocation)
    return nil
  } catch {
    return error
  }
}

func json(_ text: String) throws -> JSONValue { try JSONValue(parsing: text) }
