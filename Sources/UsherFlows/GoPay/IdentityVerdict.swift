import JSONRPC
import UsherConfig
import UsherCore

/// The verdict on a submission, which arrives after the flow has ended: by polling, and by the
/// provider's callback (contract §3.5; the page GoPay of the documentation).
struct IdentityVerdict: AccountInquiry {
  /// The time from a submission to the first poll. Each later poll doubles the time since the
  /// submission, up to `longestPause` between two polls.
  static let firstPause = Duration.seconds(5)
  static let longestPause = Duration.seconds(3600)

  private let attributes: [String: JSONValue]
  private let record: KYCRecord
  private let days: Int

  /// Creates the follow-up; nil if the account has no submission.
  init?(_ settings: GoPaySettings, _ attributes: [String: JSONValue]) {
    guard let record = KYCRecord(attributes[KYCRecord.attribute]) else { return nil }
    self.attributes = attributes
    self.record = record
    days = settings.kycDays
  }

  var news: String { record.status.rawValue.lowercased() }

  var isOver: Bool { record.status >= .error }

  func nextInquiry(after now: Timestamp) -> Timestamp? {
    let end = record.submittedAt + .seconds(days * 86_400)
    guard record.status < .error, now < end else { return nil }
    var next = record.submittedAt + Self.firstPause
    while next <= now {
      let since = next - record.submittedAt
      guard since > Self.longestPause else {
        next = next + since
        continue
      }
      // From here on the polls are one hour apart.
      let hours = (now - next) / Self.longestPause
      next = next + Self.longestPause * (Int(hours.rounded(.down)) + 1)
    }
    return next <= end ? next : nil
  }

  func inquiry(of account: AccountID) -> any ProviderCall {
    GoPayCall.currentSubmission(.account(account), requestID: record.requestID)
  }

  func learn(_ outcome: CallOutcome, at now: Timestamp) -> FollowUpOutcome {
    // Reading a reply does not depend on the token, so any value serves.
    let call = GoPayCall.currentSubmission(.token(Secret("")), requestID: record.requestID)
    switch GoPayReply(outcome, to: call) {
    case .said(let data): return learn(try? KYCStanding(data), at: now)
    case .refused(let refusal) where refusal.isUnauthorized: return .hopeless
    case .refused, .failed, .unreadable: return .nothing
    }
  }

  var callKey: String { record.requestID }

  func judge(_ callback: ProviderCallback, token: Secret?) -> CallbackVerdict {
    callback.judged(
      requestID: record.requestID, submissionID: record.submissionID, token: token)
  }

  func learn(_ callback: ProviderCallback, at now: Timestamp) -> FollowUpOutcome {
    learn(try? KYCStanding(GoPayData(members: callback.members)), at: now)
  }

  private func learn(_ standing: KYCStanding?, at now: Timestamp) -> FollowUpOutcome {
    guard let standing, let record = record.hearing(standing, at: now) else { return .nothing }
    var attributes = attributes
    attributes[KYCRecord.attribute] = record.json
    return .attributes(attributes)
  }
}
