package import FoundationEssentials
import GRDB
package import UsherCore

/// The decrypted rows of an account, its tokens and its consents.
package struct StoredAccount: Sendable {
  package let account: AccountRow
  package let tokens: [TokenRow]
  package let consents: [ConsentRow]
}

/// The rows of a ``StoredAccount``, read in one statement and not decrypted yet.
package struct SealedAccount: Sendable {
  fileprivate typealias Sealed<Row> = (clear: Row, sealed: Data)

  /// The SQLite rowid of the account, after which the next page may begin.
  fileprivate let place: Int64
  fileprivate let tag: Data
  fileprivate let account: Sealed<AccountRow>
  fileprivate var tokens: [Sealed<TokenRow>] = []
  fileprivate var consents: [Sealed<ConsentRow>] = []

  package var id: AccountID { account.clear.id }
  package var owner: Owner { account.clear.owner }
}

/// An account that the daemon must process in the background, by its row's clear columns.
package struct DueAccount: Sendable, Equatable {
  package let id: AccountID
  package let provider: ProviderName
  package let wakeAt: Timestamp
  /// The SQLite rowid of the account, after which the next page may begin.
  fileprivate let place: Int64
}

// Reads accounts on demand, a few at a time, through the read-only connection. A read does not wait
// for a commit in progress, and sees all completed commits. These methods block on the disk, and
// throw `storage_unavailable`.
extension Store {
  /// A selection of accounts to read.
  package enum AccountSelection: Sendable {
    /// The account with an id if it is owned by the given owner; nil means any owner.
    case id(AccountID, of: Owner?)
    /// The accounts of an owner at one provider; nil means at all providers.
    case owner(Owner, at: ProviderName?)
    /// The accounts of all owners that a callback from the provider may concern: those with this
    /// ``AccountRow/callTag``.
    case callTag(Data, at: ProviderName)
    case all
  }

  /// Returns a page of accounts.
  ///
  /// - Parameters:
  ///   - last: The last account of the previous page; nil for the first page.
  ///   - count: The maximum number of accounts. A page with fewer accounts is the last one.
  package func accounts(
    _ selection: AccountSelection, after last: SealedAccount? = nil, atMost count: Int
  ) throws(UsherError) -> [SealedAccount] {
    let (query, arguments) = selection.query(after: last, atMost: count)
    var accounts: [SealedAccount] = []
    var indices: [AccountID: Int] = [:]
    _ = try load(Self.accountQuery(query), arguments, from: reader) { columns in
      switch try columns.next() as Int {
      case 0:
        let account = try SealedAccount(&columns)
        indices[account.id] = accounts.count
        accounts.append(account)
      case 1:
        let clear = try TokenRow(clear: &columns)
        guard let index = indices[clear.account] else { return }
        accounts[index].tokens.append((clear, try columns.next()))
      default:
        let clear = try ConsentRow(clear: &columns)
        guard let index = indices[clear.account] else { return }
        accounts[index].consents.append((clear, try columns.next()))
      }
    }
    return accounts
  }

  /// Decrypts an account. Throws `storage_unavailable` with the name of the row if one does not
  /// decrypt.
  package func open(_ sealed: SealedAccount) throws(UsherError) -> StoredAccount {
    var tokens: [TokenRow] = []
    for (clear, sealed) in sealed.tokens { tokens.append(try sealer.open(sealed, into: clear)) }
    var consents: [ConsentRow] = []
    for (clear, sealed) in sealed.consents {
      consents.append(try sealer.open(sealed, into: clear))
    }
    let (clear, bytes) = sealed.account
    return StoredAccount(
      account: try open(bytes, tagged: sealed.tag, into: clear), tokens: tokens,
      consents: consents)
  }

  /// Returns the id of the owner's account with the subject at a provider; nil if none.
  package func account(
    ofSubject subject: String, owner: Owner, provider: ProviderName
  ) throws(UsherError) -> AccountID? {
    let tag = sealer.tag(ofSubject: subject, owner: owner, provider: provider)
    return try load(
      """
      SELECT id FROM accounts
      WHERE realm = ? AND uid = ? AND client = ? AND provider = ? AND subject_tag = ?
      """, owner.columns + [provider.rawValue, tag], from: reader
    ) { AccountID(try $0.next()) }.first
  }

  /// Returns a page of the accounts that must be processed by `end`, according to their
  /// ``AccountRow/wakeAt``, the earliest first.
  ///
  /// - Parameter last: The last account of the previous page; nil for the first page.
  package func dueAccounts(
    after last: DueAccount? = nil, until end: Timestamp, atMost count: Int
  ) throws(UsherError) -> [DueAccount] {
    try load(
      """
      SELECT id, provider, wake_at, rowid FROM accounts
      WHERE wake_at IS NOT NULL AND wake_at <= ? AND (wake_at, rowid) > (?, ?)
      ORDER BY wake_at, rowid LIMIT ?
      """,
      [
        end.milliseconds, last?.wakeAt.milliseconds ?? .min, last?.place ?? .min, count,
      ], from: reader
    ) { columns in
      DueAccount(
        id: AccountID(try columns.next()), provider: ProviderName(try columns.next()),
        wakeAt: try columns.time(), place: try columns.next())
    }
  }

  /// Returns a page of the ids of accounts with a consent that expired at `time` or before, in the
  /// order of the ids.
  ///
  /// - Parameter last: The last account of the previous page; nil for the first page.
  package func accountsWithConsents(
    expiredBy time: Timestamp, after last: AccountID? = nil, atMost count: Int
  ) throws(UsherError) -> [AccountID] {
    try load(
      """
      SELECT DISTINCT account FROM consents INDEXED BY consents_by_expiry
      WHERE expires_at <= ? AND account > ? ORDER BY account LIMIT ?
      """, [time.milliseconds, last?.rawValue ?? "", count], from: reader
    ) { AccountID(try $0.next()) }
  }

  /// Returns a query for the rows, tokens and consents of the accounts whose ids `query` selects.
  /// The result is a single statement, so that no commit happens between reading an account and its
  /// tokens.
  private static func accountQuery(_ query: String) -> String {
    """
    WITH chosen (id) AS MATERIALIZED (\(query))
    SELECT 0, a.id, a.realm, a.uid, a.client, a.provider, a.wake_at, a.call_tag, a.sealed,
      a.subject_tag, a.rowid
    FROM chosen CROSS JOIN accounts AS a ON a.id = chosen.id
    UNION ALL
    SELECT 1, t.account, t.audience, t.scope, t.expires_at, t.status, t.sealed, NULL, NULL, NULL,
      NULL
    FROM chosen CROSS JOIN tokens AS t ON t.account = chosen.id
    UNION ALL
    SELECT 2, c.account, c.client, c.grant_name, c.expires_at, c.sealed, NULL, NULL, NULL, NULL,
      NULL
    FROM chosen CROSS JOIN consents AS c ON c.account = chosen.id
    """
  }
}

extension Store.AccountSelection {
  /// Returns the query that selects the accounts' ids. Its text depends only on the case, so that
  /// the prepared statement can be cached.
  fileprivate func query(
    after last: SealedAccount?, atMost count: Int
  ) -> (sql: String, arguments: StatementArguments) {
    let isOwners = "realm = ? AND uid = ? AND client = ?"
    switch self {
    case .id(let id, nil): return ("SELECT id FROM accounts WHERE id = ?", [id.rawValue])
    case .id(let id, let owner?):
      // One row is read even if no account has the id, so that the duration does not reveal whether
      // another owner has such an account. The unary plus keeps SQLite from using the index for the
      // last condition.
      return (
        """
        SELECT id FROM accounts
        WHERE rowid = (SELECT rowid FROM accounts WHERE id >= ? ORDER BY id LIMIT 1)
          AND \(isOwners) AND +id = ?
        """, [id.rawValue] + owner.columns + [id.rawValue]
      )
    case .owner(let owner, let provider?):
      return (
        """
        SELECT id FROM accounts WHERE \(isOwners) AND provider = ? AND subject_tag > ?
        ORDER BY subject_tag LIMIT ?
        """, owner.columns + [provider.rawValue, last?.tag ?? Data(), count]
      )
    case .owner(let owner, nil):
      return (
        """
        SELECT id FROM accounts WHERE \(isOwners) AND (provider, subject_tag) > (?, ?)
        ORDER BY provider, subject_tag LIMIT ?
        """,
        owner.columns
          + [last?.account.clear.provider.rawValue ?? "", last?.tag ?? Data(), count]
      )
    case .callTag(let tag, let provider):
      return (
        """
        SELECT id FROM accounts WHERE provider = ? AND call_tag = ? AND rowid > ?
        ORDER BY rowid LIMIT ?
        """, [provider.rawValue, tag, last?.place ?? .min, count]
      )
    case .all:
      return (
        "SELECT id FROM accounts WHERE rowid > ? ORDER BY rowid LIMIT ?",
        [last?.place ?? .min, count]
      )
    }
  }
}

extension SealedAccount {
  fileprivate init(_ columns: inout Columns) throws {
    account = (try AccountRow(clear: &columns), try columns.next())
    tag = try columns.next()
    place = try columns.next()
  }
}
