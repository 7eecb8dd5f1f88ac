import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherDaemon

// Calls of the services without a policy decision. The account that a call is about is found as the
// daemon finds it.

extension TokenService {
  func get(
    _ call: TokenGet, _ caller: Caller, within scopes: [String]? = nil
  ) throws(UsherError) -> Response {
    let record = try repository.account(call.account, call.provider, for: caller, TokenGet.name)
    return try get(call, of: record, caller, within: scopes)
  }

  func revoke(
    _ call: TokenRevoke, _ caller: Caller
  ) async throws(UsherError) -> RevocationReply {
    try await revoke(
      of: try repository.account(call.account, call.provider, for: caller, TokenRevoke.name), caller
    )
  }

  func forget(
    _ call: AccountForget, _ caller: Caller
  ) async throws(UsherError) -> RevocationReply {
    try await forget(
      call,
      of: try repository.account(call.account, call.provider, for: caller, AccountForget.name),
      caller)
  }
}

extension TOTPService {
  func code(_ call: TOTPCode, _ caller: Caller) throws(UsherError) -> Response {
    try code(
      of: try account(call.account, call.provider, for: caller, TOTPCode.name), caller)
  }
}

extension AccountService {
  func get(_ id: AccountID, _ caller: Caller) throws(UsherError) -> AccountGet.Reply {
    get(try repository.account(id, for: caller, AccountGet.name), caller)
  }

  func shown(of id: AccountID, to caller: Caller) -> [(account: AccountID, fields: [String])] {
    guard let record = try? repository.account(id, for: caller, AccountGet.name) else { return [] }
    return shown(of: record, to: caller)
  }

  func tokens(_ call: TokenList, _ caller: Caller) throws(UsherError) -> TokenList.Reply {
    guard let id = call.account else { return try tokens(call, of: nil, caller) }
    let record = try repository.account(id, for: caller, TokenList.name)
    return try tokens(call, of: record, caller)
  }
}

extension ConsentService {
  func list(_ call: ConsentList, _ caller: Caller) throws(UsherError) -> ConsentList.Reply {
    try list(call, of: record(call.account, caller, ConsentList.name), caller)
  }

  func revoke(
    _ call: ConsentRevoke, _ caller: Caller
  ) async throws(UsherError) -> ConsentRevoke.Reply {
    try await revoke(
      call, of: record(call.account, caller, ConsentRevoke.name), caller, where: { _ in true })
  }

  private func record(_ id: AccountID?, _ caller: Caller, _ method: String) -> AccountRecord? {
    id.flatMap { try? repository.account($0, for: caller, method) }
  }
}

extension FlowService {
  func start(_ call: FlowStart, _ caller: Caller) async throws(UsherError) -> FlowStart.Reply {
    if call.provider != ProviderConfig.local.name { try caller.owner.checkMayHaveAccounts() }
    let place = try admit(call, caller)
    let request = PolicyRequest(call)
    return try await start(
      call, of: try account(of: call, for: caller)?.id,
      for: try identity(of: call, for: caller)?.subject, caller, in: place,
      offering: { caller.maySee($0, request) })
  }
}
