import UsherCore
import UsherStore

// Reads whole tables that the daemon never reads at once.
extension Store {
  func loadAccounts() throws(UsherError) -> [AccountRow] { try accounts().map(\.account) }

  func loadTokens() throws(UsherError) -> [TokenRow] { try accounts().flatMap(\.tokens) }

  func loadConsents() throws(UsherError) -> [ConsentRow] { try accounts().flatMap(\.consents) }

  func loadJournal() throws(UsherError) -> [JournalRow] {
    var rows: [JournalRow] = []
    try readJournal { rows.append($0) }
    return rows
  }

  private func accounts() throws(UsherError) -> [StoredAccount] {
    try accounts(.all, atMost: .max).map { account throws(UsherError) in try open(account) }
  }
}
