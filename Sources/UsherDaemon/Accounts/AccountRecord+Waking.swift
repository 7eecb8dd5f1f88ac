import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

extension AccountRecord {
  /// Returns the next time at which ``AccountWatch`` must process the account without a request;
  /// nil if never while the account stays unchanged.
  ///
  /// At that time the grant expires, the access token is due for renewal, or the provider is to be
  /// asked about the account again. The time is stored with the row, so it must not depend on
  /// settings that may change before the row is read.
  ///
  /// - Parameter provider: The account's provider; nil if it is not configured, so that the time of
  ///   its next inquiry is unknown.
  func wakeTime(at now: Timestamp, for provider: ProviderConfig?) -> Timestamp? {
    [tokenWakeTime, inquiryWakeTime(now, provider)].compactMap(\.self).min()
  }

  private var tokenWakeTime: Timestamp? {
    let grant = details.grant
    guard grant.isRenewable else { return nil }
    let end = grant.refreshExpiresAt
    let renewal = details.keepAlive ? TokenPlan.renewal(of: self, end) : nil
    return [end, renewal].compactMap(\.self).min().map { max($0, Self.first) }
  }

  private func inquiryWakeTime(_ now: Timestamp, _ provider: ProviderConfig?) -> Timestamp? {
    guard let provider, isOf(provider) else {
      return details.attributes.isEmpty ? nil : AccountRow.unknownWakeTime
    }
    let followUp = provider.definition.followUp(attributes: details.attributes)
    guard let inquiry = followUp as? any AccountInquiry, !inquiry.isFinished else { return nil }
    return max(inquiry.nextInquiry(after: now) ?? now, Self.first)
  }

  /// The earliest time to store, because ``AccountRow/unknownWakeTime`` has a meaning of its own.
  private static let first = AccountRow.unknownWakeTime + .milliseconds(1)
}

extension AccountRecord {
  /// How a callback from the provider finds the account.
  enum CallbackKey: Equatable {
    case noCallbacks
    /// Any callback of the provider may concern the account, because the account's key is unknown.
    case unknown
    case key(String)
  }

  /// Returns how callbacks from the provider find the account. The result is stored with the row
  /// and, like ``wakeTime(at:for:)``, must not depend on settings.
  ///
  /// - Parameter provider: The account's provider; nil if it is not configured, so that the key is
  ///   unknown.
  func callbackKey(for provider: ProviderConfig?) -> CallbackKey {
    guard let provider, isOf(provider) else {
      return details.attributes.isEmpty ? .noCallbacks : .unknown
    }
    return provider.definition.followUp(attributes: details.attributes)
      .map { .key($0.callKey) } ?? .noCallbacks
  }
}
