import UsherCore
import UsherStore

extension AccountDetails.Authenticator? {
  /// Returns the authenticator after a flow has delivered a secret, or none. A new secret starts
  /// without a record of received codes.
  func taking(_ secret: Sealed<Secret>?) -> Self {
    guard let secret, secret != self?.secret else { return self }
    return .init(secret: secret)
  }
}

extension AccountRepository {
  /// Plans the record that a client received a code; `end` is the end of the code's time step.
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
