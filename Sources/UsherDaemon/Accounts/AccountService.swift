import UsherAPI
import UsherConfig
import UsherCore
import UsherStore

/// Implementation of `account.list`, `account.get` and `token.list`. If a profile is shared by
/// consent, a client sees the members that the user has granted to it at the time of the call.
struct AccountService: Sendable {
  let repository: AccountRepository
  let clock: any Clock

  /// Implements `account.list`. Blocks if the accounts are not in memory.
  func list(_ provider: ProviderName?, _ caller: Caller) throws(UsherError) -> AccountList.Reply {
    let records = try repository.list(for: caller, AccountList.name, at: provider)
    return .init(accounts: records.map { $0.account(for: caller, AccountList.name, by: clock) })
  }

  func get(_ record: AccountRecord, _ caller: Caller) -> AccountGet.Reply {
    .init(account: record.account(for: caller, AccountGet.name, by: clock))
  }

  /// Returns the names of the profile members that a caller is shown, for the audit log.
  func shown(
    of record: AccountRecord, to caller: Caller
  ) -> [(account: AccountID, fields: [String])] {
    [(record.id, record.members(for: caller, AccountGet.name, by: clock))]
  }

  /// Returns the shown profile members of all accounts for the audit log, like ``shown(of:to:)``.
  func shown(
    at provider: ProviderName?, to caller: Caller
  ) -> [(account: AccountID, fields: [String])] {
    let records = try? repository.list(for: caller, AccountList.name, at: provider)
    return (records ?? [])
      .map { ($0.id, $0.members(for: caller, AccountList.name, by: clock)) }
      .filter { !$0.1.isEmpty }
  }

  /// Implements `token.list`. Blocks if the accounts are not in memory.
  ///
  /// - Parameter record: The account that the call names; nil if it names none.
  func tokens(
    _ call: TokenList, of record: AccountRecord?, _ caller: Caller
  ) throws(UsherError) -> TokenList.Reply {
    let now = clock.now()
    let records =
      if let record { [record] } else {
        try repository.list(for: caller, TokenList.name, at: call.provider)
      }
    let entries = records.flatMap { record in
      record.summaries(at: now).map {
        TokenList.Entry(account: record.id, provider: record.provider, token: $0)
      }
    }
    return .init(tokens: entries)
  }
}

extension AccountRecord {
  /// Returns the account as a caller may see it; the caller's policy rule may hide profile members.
  fileprivate func account(for caller: Caller, _ method: String, by clock: any Clock) -> Account {
    let now = clock.now()
    return account(
      for: caller.client, fields: caller.fields(of: self, method, at: now, by: clock), at: now)
  }

  fileprivate func members(for caller: Caller, _ method: String, by clock: any Clock) -> [String] {
    let now = clock.now()
    let fields = caller.fields(of: self, method, at: now, by: clock)
    return profile(for: caller.client, fields: fields, at: now)?.keys.sorted() ?? []
  }
}

extension Caller {
  /// Returns the profile members that the caller's policy rule permits; nil: all.
  func fields(
    of record: AccountRecord, _ method: String, at now: Timestamp, by clock: any Clock
  ) -> [String]? {
    var request = PolicyRequest(method, about: record)
    request.weekMinute = policy.choosesHours ? WeekMinute(now, by: clock) : nil
    switch decide(request) {
    case .allowed(let permit): return permit.fields
    case .denied: return []
    }
  }
}
