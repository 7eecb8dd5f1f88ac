import UsherAPI
import UsherCore
import UsherStore

/// `account.list`, `account.get` and `token.list`: all read from memory. Of a profile by consent a
/// client sees what it was granted, as it stands at the moment of the call.
struct AccountDesk: Sendable {
  let book: AccountBook
  let clock: any Clock

  func list(_ provider: ProviderName?, _ caller: Caller) -> AccountList.Reply {
    let now = clock.now()
    let records = book.accounts(of: caller.owner, at: provider)
    return .init(accounts: records.map { $0.account(for: caller.client, at: now) })
  }

  func get(_ id: AccountID, _ caller: Caller) throws(UsherError) -> AccountGet.Reply {
    let record = try book.account(id, of: caller.owner)
    return .init(account: record.account(for: caller.client, at: clock.now()))
  }

  func tokens(_ call: TokenList, _ owner: Owner) throws(UsherError) -> TokenList.Reply {
    let now = clock.now()
    let records: [AccountRecord]
    if let id = call.account {
      records = [try book.account(id, of: owner)]
    } else {
      records = book.accounts(of: owner, at: call.provider)
    }
    let entries = records.flatMap { record in
      record.summaries(at: now).map {
        TokenList.Entry(account: record.id, provider: record.provider, token: $0)
      }
    }
    return .init(tokens: entries)
  }
}
