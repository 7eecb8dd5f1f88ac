import UsherCore
import UsherStore

extension AccountDetails.Authenticator? {
  /// What there is after a flow has brought a secret, or none. A new one makes new codes: of those
  /// nobody was given any.
  func taking(_ secret: Sealed<Secret>?) -> Self {
    guard let secret, secret != self?.secret else { return self }
    return .init(secret: secret)
  }
}

extension AccountRepository {
  /// Plans that a client is given the code of the step that is over then.
  func update(
    _ record: AccountRecord, givenTo client: String, until end: Timestamp
  ) throws(UsherError) -> Update {
    let before = record
    var record = record
    record.details.authenticator?.givenUntil[client] = end
    let change = try put(&record)
    return Update(record: record, changes: [change], before: before)
  }
}
