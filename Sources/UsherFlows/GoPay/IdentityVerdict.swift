import JSONRPC
import UsherConfig
import UsherCore

/// Handles the verdict on the user's submission after the flow has ended. The verdict arrives by
/// polling and by GoPay's call to the daemon (provider contract §3.5; page GoPay in Usher.docc).
struct IdentityVerdict: AccountInquiry {
  /// The time from the submission to the first poll. At each later poll, twice as much time has
  /// passed since the submission, until the polls are `maxPause` apart.
  static let firstPause = Duration.seconds(5)
  static let maxPause = Duration.seconds(3600)

  private let attributes: [String: JSONValue]
  private let record: KYCRecord
  private let days: Int

  /// Creates the follow-up from the account's attributes; nil if the account has no submission.
  init?(_ settings: GoPaySettings, _ attributes: [String: JSONValue]) {
    guard let record = KYCRecord(attributes[KYCRecord.attribute]) else { return nil }
    self.attributes = attributes
    self.record = record
    days = settings.kycDays
  }

  var eventName: String { record.status.rawValue.lowercased() }

  var isFinished: Bool { record.status >= .error }

  func nextInquiry(after now: Timestamp) -> Timestamp? {
    let end = record.submittedAt + .seconds(days * 86_400)
    guard record.status < .error, now < end else { return nil }
    var next = record.submittedAt + Self.firstPause
    while next <= now {
      let since = next - record.submittedAt
      guard since > Self.maxPause else {
        next = next + since
        continue
      }
      // From here on the polls are one hour apart.
      let hours = (now - next) / Self.maxPause
      next = next + Self.maxPause * (Int(hours.rounded(.down)) + 1)
    }
    return next <= end ? next : nil
  }

  func inquiry(of account: AccountID) -> any ProviderCall {
    GoPayCall.currentSubmission(.account(account), requestID: record.requestID)
  }

  func changes(from outcome: CallOutcome, at now: Timestamp) -> FollowUpOutcome {
    // The reply is read in the same way for each token, so any value will do.
    let call = GoPayCall.currentSubmission(.token(Sealed(Secret(""))), requestID: record.requestID)
    switch GoPayReply(outcome, to: call) {
    case .success(let data): return changes(from: try? KYCStatus(data), at: now)
    case .refused(let refusal) where refusal.isUnauthorized: return .stopPolling
    case .refused, .failed, .unreadable, .noToken: return .nothing
    }
  }

  var callKey: String { record.requestID }

  func validate(_ callback: ProviderCallback, token: Secret?) -> CallbackVerdict {
    callback.verdict(requestID: record.requestID, submissionID: record.submissionID, token: token)
  }

  func changes(from callback: ProviderCallback, at now: Timestamp) -> FollowUpOutcome {
    changes(from: try? KYCStatus(GoPayData(members: callback.members)), at: now)
  }

  private func changes(from reported: KYCStatus?, at now: Timestamp) -> FollowUpOutcome {
    guard let reported, let record = record.updated(by: reported, at: now) else { return .nothing }
    return .attributes(copy(attributes) { $0[KYCRecord.attribute] = record.json })
  }
}
