package import FoundationEssentials
import GRDB
package import UsherCore

/// An account with all that belongs to it, as it was written.
package struct StoredAccount: Sendable {
  package let account: AccountRow
  package let tokens: [TokenRow]
  package let consents: [ConsentRow]
}

/// As ``StoredAccount``, not opened yet: all of one moment.
package struct SealedAccount: Sendable {
  fileprivate typealias Sealed<Row> = (clear: Row, sealed: Data)

  package let id: AccountID
  /// Where it stands in the table.
  fileprivate let place: Int64
  fileprivate let tag: Data
  fileprivate let account: Sealed<AccountRow>
  fileprivate var tokens: [Sealed<TokenRow>] = []
  fileprivate var consents: [Sealed<ConsentRow>] = []

  package var owner: Owner { account.clear.owner }
}

/// An account that the daemon has to look at, as its row says in the clear.
package struct WakingAccount: Sendable, Equatable {
  package let id: AccountID
  package let provider: ProviderName
  package let wakeAt: Timestamp
  /// Where it stands in the table.
  fileprivate let place: Int64
}

/// Reading accounts as they are needed, a few at a time, through a connection that waits for no
/// commit: what was committed before is found.
///
/// These block for as long as the disk takes. All throw `storage_unavailable`.
extension Store {
  /// Which accounts are read.
  package enum AccountSelection: Sendable {
    /// The one of this id, if it is this owner's; nil: anybody's.
    case id(AccountID, of: Owner?)
    /// Those of an owner, at one provider or at all of them.
    case owner(Owner, at: ProviderName?)
    /// Those of all owners that have this tag of a provider's calls.
    case called(Data, at: ProviderName)
    case all
  }

  /// - Parameters:
  ///   - last: The last one of the page before; nil: from the first on.
  ///   - count: How many at most; fewer are the last ones.
  package func accounts(
    _ selection: AccountSelection, after last: SealedAccount? = nil, atMost count: Int
  ) throws(UsherError) -> [SealedAccount] {
    let (chosen, arguments) = selection.chosen(after: last, atMost: count)
    var accounts: [SealedAccount] = []
    var indices: [AccountID: Int] = [:]
    _ = try load(Self.withAll(chosen), arguments, from: reader) { columns in
      let table: Int = try columns.next()
      let id = AccountID(try columns.next())
      guard table > 0 else {
        indices[id] = accounts.count
        accounts.append(try SealedAccount(id, &columns))
        return
      }
      guard let index = indices[id] else { return }
      try accounts[index].append(&columns, ofTokens: table == 1)
    }
    return accounts
  }

  /// - Throws: The row that does not open is named.
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

  /// The account of a person at a provider, if this owner has it.
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

  /// The accounts that wake up to a moment, the first one first.
  ///
  /// - Parameter last: The last one of the page before; nil: from the first on.
  package func wakingAccounts(
    after last: WakingAccount? = nil, until end: Timestamp, atMost count: Int
  ) throws(UsherError) -> [WakingAccount] {
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
      WakingAccount(
        id: AccountID(try columns.next()), provider: ProviderName(try columns.next()),
        wakeAt: try columns.time(), place: try columns.next())
    }
  }

  /// Accounts with a consent that expired at this moment or before, by their ids.
  ///
  /// - Parameter last: The last one of the page before; nil: from the first on.
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

  /// What belongs to the accounts that `chosen` selects the ids of, in one statement: no commit
  /// comes in between.
  private static func withAll(_ chosen: String) -> String {
    """
    WITH chosen (id) AS MATERIALIZED (\(chosen))
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
  /// The statement that selects their ids. Each kind of it is one text.
  fileprivate func chosen(
    after last: SealedAccount?, atMost count: Int
  ) -> (sql: String, arguments: StatementArguments) {
    let isOwners = "realm = ? AND uid = ? AND client = ?"
    switch self {
    case .id(let id, nil): return ("SELECT id FROM accounts WHERE id = ?", [id.rawValue])
    case .id(let id, let owner?):
      // The row with the next id is read where there is none with this one: time does not tell an id
      // that another owner has from one that nobody has. The plus keeps the index out of the second
      // look.
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
    case .called(let tag, let provider):
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
  fileprivate init(_ id: AccountID, _ columns: inout Columns) throws {
    let clear = AccountRow(
      id: id, owner: try columns.owner(), provider: ProviderName(try columns.next()), subject: "",
      wakeAt: try columns.timeOrNil(), callTag: try columns.nextOrNil(),
      payload: SealedPayload([]))
    self.id = id
    account = (clear, try columns.next())
    tag = try columns.next()
    place = try columns.next()
  }

  fileprivate mutating func append(_ columns: inout Columns, ofTokens: Bool) throws {
    if ofTokens {
      let clear = TokenRow(
        account: id, audience: try columns.next(), scope: try columns.next(),
        expiresAt: try columns.timeOrNil(), status: try columns.next(),
        payload: SealedPayload([]))
      tokens.append((clear, try columns.next()))
    } else {
      let clear = ConsentRow(
        account: id, client: try columns.next(), grant: try columns.next(),
        expiresAt: try columns.time(), payload: SealedPayload([]))
      consents.append((clear, try columns.next()))
    }
  }
}

extension Owner {
  fileprivate var columns: StatementArguments { [realm, uid, client ?? ""] }
}
