import UsherAPI
import UsherCore
import UsherStore

/// `account.list`, `account.get` and `token.list`: all read from memory.
struct AccountDesk: Sendable {
  let book: AccountBook
  let clock: any Clock

  func list(_ provider: ProviderName?, _ owner: Owner) -> AccountList.Reply {
    let now = clock.now()
    return .init(accounts: book.accounts(of: owner, at: provider).map { $0.account(at: now) })
  }

  func get(_ id: AccountID, _ owner: Owner) throws(UsherError) -> AccountGet.Reply {
    .init(account: try book.account(id, of: owner).account(at: clock.now()))
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
