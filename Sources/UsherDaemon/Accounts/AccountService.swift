import UsherAPI
import UsherConfig
import UsherCore
import UsherStore

/// `account.list`, `account.get` and `token.list`. Of a profile by consent a
/// client sees what it was granted, as it stands at the moment of the call.
struct AccountService: Sendable {
  let repository: AccountRepository
  let clock: any Clock

  /// Blocks where they are on the disk.
  func list(
    _ provider: ProviderName?, _ caller: Caller
  ) throws(UsherError) -> AccountList.Reply {
    let records = try repository.listed(for: caller, AccountList.name, at: provider)
    return .init(accounts: records.map { $0.account(for: caller, AccountList.name, by: clock) })
  }

  func get(_ id: AccountID, _ caller: Caller) throws(UsherError) -> AccountGet.Reply {
    let record = try repository.account(id, for: caller, AccountGet.name)
    return .init(account: record.account(for: caller, AccountGet.name, by: clock))
  }

  /// Which members of the profile of an account a caller is shown, for the audit.
  func shown(of id: AccountID, to caller: Caller) -> [(account: AccountID, fields: [String])] {
    guard let record = try? repository.account(id, for: caller, AccountGet.name) else { return [] }
    return [(id, record.members(for: caller, AccountGet.name, by: clock))]
  }

  /// As ``shown(of:to:)``, of all accounts that he is shown members of.
  func shown(
    at provider: ProviderName?, to caller: Caller
  ) -> [(account: AccountID, fields: [String])] {
    let records = try? repository.listed(for: caller, AccountList.name, at: provider)
    return (records ?? [])
      .map { ($0.id, $0.members(for: caller, AccountList.name, by: clock)) }
      .filter { !$0.1.isEmpty }
  }

  /// Blocks where they are on the disk.
  func tokens(_ call: TokenList, _ caller: Caller) throws(UsherError) -> TokenList.Reply {
    let now = clock.now()
    let records: [AccountRecord]
    if let id = call.account {
      records = [try repository.account(id, for: caller, TokenList.name)]
    } else {
      records = try repository.listed(for: caller, TokenList.name, at: call.provider)
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
  /// As a caller may see it: a rule of his may leave members of the profile out.
  fileprivate func account(for caller: Caller, _ method: String, by clock: any Clock) -> Account {
    let now = clock.now()
    return account(
      for: caller.client, fields: caller.fields(of: self, method, at: now, by: clock), at: now)
  }
}

extension AccountRecord {
  /// The names of the members of the profile that a caller may see.
  fileprivate func members(for caller: Caller, _ method: String, by clock: any Clock) -> [String] {
    let now = clock.now()
    let fields = caller.fields(of: self, method, at: now, by: clock)
    return profile(for: caller.client, fields: fields, at: now)?.keys.sorted() ?? []
  }
}

extension Caller {
  /// The members of a profile that its rule lets it see; nil: all.
  func fields(
    of record: AccountRecord, _ method: String, at now: Timestamp, by clock: any Clock
  ) -> [String]? {
    var request = PolicyRequest(method, about: record)
    request.moment = policy.choosesHours ? WeekMinute(now, by: clock) : nil
    switch decide(request) {
    case .allowed(let permit): return permit.fields
    case .denied: return []
    }
  }
}
