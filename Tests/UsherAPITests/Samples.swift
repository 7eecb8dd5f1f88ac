import JSONRPC
import Testing
import UsherAPI
import UsherCore

/// Every method of the API.
let allMethods: [any Method.Type] = [
  AccountForget.self, AccountGet.self, AccountList.self, AuditList.self, AuditVerify.self,
  ClientClear.self,
  ConfirmAnswer.self, ConfirmForget.self, ConfirmList.self, ConsentList.self, ConsentRevoke.self,
  CredentialDelete.self, CredentialList.self, CredentialSet.self,
  EventsSubscribe.self, EventsUnsubscribe.self,
  FlowCancel.self, FlowGet.self, FlowList.self, FlowStart.self, FlowSubmit.self, FlowWait.self,
  KeyCreateRecovery.self, LocalAuthSetPasscode.self, LocalAuthStatus.self,
  OwnerAccept.self, OwnerForget.self, OwnerList.self,
  PolicyCheck.self, PolicyList.self,
  ProviderCheck.self, ProviderGet.self, ProviderList.self,
  RegistrationCheckDuplicate.self, RegistrationCheckUserKey.self, RPCCancel.self, RPCDiscover.self,
  RPCHello.self, SystemBackup.self, SystemLock.self, SystemReload.self,
  SystemStatus.self, SystemUnlock.self,
  TokenGet.self, TokenList.self, TokenRevoke.self,
  TOTPCode.self, TOTPList.self,
]

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
    Issue.record("nothing was refused", sourceLocation: sourceLocation)
    return nil
  } catch {
    return error
  }
}

func json(_ text: String) throws -> JSONValue { try JSONValue(parsing: text) }
