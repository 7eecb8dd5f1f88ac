import UsherAPI
import UsherConfig
import UsherCore
import UsherStore

extension Caller {
  /// Whose accounts it may have.
  var owners: [Owner] {
    [owner] + lenders.sorted { ($0.client ?? "") < ($1.client ?? "") }
  }
}

extension AccountRepository {
  /// Among more than so many accounts nobody is told their number.
  static let mostToChoose = 100

  /// An account as a caller may have it: what he may not see is not found, by the same path as what
  /// does not exist.
  func account(
    _ id: AccountID, for caller: Caller, _ method: String
  ) throws(UsherError) -> AccountRecord {
    guard let record = try seen(id, by: caller, method) else { throw Self.notFound(id) }
    return record
  }

  func seen(
    _ id: AccountID, by caller: Caller, _ method: String
  ) throws(UsherError) -> AccountRecord? {
    try find(id, of: caller.owners).flatMap { caller.sees($0, method) ? $0 : nil }
  }

  /// His own and those he may read, each oldest first.
  ///
  /// - Parameters:
  ///   - most: Where there are more, more than so many of them.
  ///   - isMeant: The others do not count.
  func accounts(
    for caller: Caller, _ method: String, at provider: ProviderName? = nil, most: Int = .max,
    where isMeant: (AccountRecord) -> Bool = { _ in true }
  ) throws(UsherError) -> [AccountRecord] {
    var records: [AccountRecord] = []
    for owner in caller.owners {
      records += try accounts(of: owner, at: provider, most: most) {
        isMeant($0) && caller.sees($0, method)
      }
    }
    return records
  }

  /// As ``accounts(for:_:at:most:where:)``, all of them, for one reply.
  ///
  /// - Throws: `messageTooLarge` naming the limit, where a reply cannot tell of so many.
  func listed(
    for caller: Caller, _ method: String, at provider: ProviderName?,
    where isMeant: (AccountRecord) -> Bool = { _ in true }
  ) throws(UsherError) -> [AccountRecord] {
    let most = dependencies.config.limits.accountsInList
    let records = try accounts(for: caller, method, at: provider, most: most, where: isMeant)
    guard records.count <= most else {
      let advice = provider == nil ? "name a provider" : "ask for one by its id"
      throw UsherError(
        .messageTooLarge,
        "these are more than the \(most) accounts that a list may have: \(advice)",
        detail: .init(limit: "accounts_in_list"))
    }
    return records
  }

  func hasAccounts(of owner: Owner, at provider: ProviderName) throws(UsherError) -> Bool {
    try !accounts(of: owner, at: provider, most: 0).isEmpty
  }

  /// The account a caller means who names none.
  ///
  /// - Parameter records: Those of the provider that it can be, or more than ``mostToChoose`` of them.
  /// - Throws: `interactionRequired` where nobody has signed in, `invalidParams` for `field` where
  ///   there are several.
  func onlyAccount(
    among records: [AccountRecord], at provider: ProviderName, field: String
  ) throws(UsherError) -> AccountRecord {
    guard let first = records.first else {
      throw UsherError(
        .interactionRequired, "nobody has signed in at provider \(provider)",
        detail: .init(next: dependencies.signIn(at: provider)))
    }
    guard records.count == 1 else {
      let many = Self.mostToChoose
      let count = records.count > many ? "more than \(many)" : "\(records.count)"
      throw UsherError(
        .invalidParams, "there are \(count) accounts of provider \(provider): name one",
        detail: .init(field: field))
    }
    return first
  }
}
