import UsherAPI
import UsherConfig
import UsherCore
import UsherStore

extension Caller {
  /// The owners whose accounts the caller may read: the caller's own owner, then the owners that
  /// lend their accounts to it, by name.
  var owners: [Owner] {
    [owner] + lenders.sorted { ($0.client ?? "") < ($1.client ?? "") }
  }
}

extension AccountRepository {
  /// The highest number of accounts that an error message states when a call must choose one.
  static let maxChoices = 100

  static let nothingNamed = UsherError(
    .invalidParams, "account and provider are missing: give one of them or both", field: "account")

  static let changedMeanwhile = UsherError(
    .conflict, "the account changed during the call: try again")

  /// Returns an account that the caller may see. An account that the caller may not see is reported
  /// as `notFound`, by the same path as an unknown id.
  func account(
    _ id: AccountID, for caller: Caller, _ request: PolicyRequest
  ) throws(UsherError) -> AccountRecord {
    guard let record = try visible(id, by: caller, request) else { throw Self.notFound(id) }
    return record
  }

  /// Returns the account that a call names by id, or else the only account at the named provider.
  ///
  /// - Parameters:
  ///   - isIncluded: Only accounts for which it returns true are chosen.
  ///   - error: Returns the error if `isIncluded` excludes all accounts of the provider. It is
  ///     passed one of them.
  func account(
    _ id: AccountID?, _ provider: ProviderName?, for caller: Caller, _ request: PolicyRequest,
    where isIncluded: (AccountRecord) -> Bool = { _ in true },
    elseError error: ((AccountRecord) -> UsherError)? = nil
  ) throws(UsherError) -> AccountRecord {
    if let id {
      let record = try account(id, for: caller, request)
      guard provider == nil || provider == record.provider else {
        throw UsherError(
          .invalidParams, "account \(id) is not at the given provider: omit one of them",
          field: "provider")
      }
      return record
    }
    guard let provider else { throw Self.nothingNamed }
    let records = try accounts(
      for: caller, request, at: provider, limit: Self.maxChoices, where: isIncluded)
    if records.isEmpty {
      if let error, let other = try accounts(for: caller, request, at: provider, limit: 0).first {
        throw error(other)
      }
      _ = try dependencies.configStore.provider(named: provider)
    }
    return try onlyAccount(among: records, at: provider, field: "account")
  }

  func visible(
    _ id: AccountID, by caller: Caller, _ request: PolicyRequest
  ) throws(UsherError) -> AccountRecord? {
    try find(id, of: caller.owners).flatMap { caller.maySee($0, request) ? $0 : nil }
  }

  /// Returns the caller's accounts and those lent to it, for each owner the oldest first.
  ///
  /// - Parameters:
  ///   - limit: If an owner has more accounts, only some are returned, but more than `limit`.
  ///   - isIncluded: Accounts for which it returns false are skipped and not counted.
  func accounts(
    for caller: Caller, _ request: PolicyRequest, at provider: ProviderName? = nil,
    limit: Int = .max,
    where isIncluded: (AccountRecord) -> Bool = { _ in true }
  ) throws(UsherError) -> [AccountRecord] {
    var records: [AccountRecord] = []
    for owner in caller.owners {
      records += try accounts(of: owner, at: provider, limit: limit) {
        isIncluded($0) && caller.maySee($0, request)
      }
    }
    return records
  }

  /// Returns all accounts of ``accounts(for:_:at:limit:where:)``, for one reply.
  ///
  /// - Throws: `messageTooLarge` naming the limit if a reply may not contain so many accounts.
  func list(
    for caller: Caller, _ method: String, at provider: ProviderName?,
    where isIncluded: (AccountRecord) -> Bool = { _ in true }
  ) throws(UsherError) -> [AccountRecord] {
    let limit = dependencies.config.limits.accountsInList
    let records = try accounts(for: caller, method, at: provider, limit: limit, where: isIncluded)
    guard records.count <= limit else {
      let advice = provider == nil ? "name a provider" : "ask for one account by its id"
      throw UsherError(
        .messageTooLarge,
        "there are more than \(limit) accounts, the most that a list may have: \(advice)",
        limit: "accounts_in_list")
    }
    return records
  }

  func hasAccounts(of owner: Owner, at provider: ProviderName) throws(UsherError) -> Bool {
    try !accounts(of: owner, at: provider, limit: 0).isEmpty
  }

  /// Returns the only account among the possible ones, for a call that names no account.
  ///
  /// - Parameter records: The possible accounts at the provider, or more than ``maxChoices`` of
  ///   them.
  /// - Throws: `interactionRequired` if there is no account, `invalidParams` for `field` if there
  ///   are several.
  func onlyAccount(
    among records: [AccountRecord], at provider: ProviderName, field: String
  ) throws(UsherError) -> AccountRecord {
    guard let first = records.first else {
      throw UsherError(
        .interactionRequired, "no account is signed in at provider \(provider)",
        detail: .init(next: dependencies.signIn(at: provider)))
    }
    guard records.count == 1 else {
      let many = Self.maxChoices
      let count = records.count > many ? "more than \(many)" : "\(records.count)"
      throw UsherError(
        .invalidParams,
        "there are \(count) accounts at provider \(provider): name one", field: field)
    }
    return first
  }
}

// MARK: - By the method alone

// For calls of which the rules need to know only the method to say which accounts the caller sees.
extension AccountRepository {
  func account(
    _ id: AccountID, for caller: Caller, _ method: String
  ) throws(UsherError) -> AccountRecord {
    try account(id, for: caller, PolicyRequest(method: method))
  }

  func account(
    _ id: AccountID?, _ provider: ProviderName?, for caller: Caller, _ method: String
  ) throws(UsherError) -> AccountRecord {
    try account(id, provider, for: caller, PolicyRequest(method: method))
  }

  func accounts(
    for caller: Caller, _ method: String, at provider: ProviderName? = nil, limit: Int = .max,
    where isIncluded: (AccountRecord) -> Bool = { _ in true }
  ) throws(UsherError) -> [AccountRecord] {
    try accounts(
      for: caller, PolicyRequest(method: method), at: provider, limit: limit, where: isIncluded)
  }
}
