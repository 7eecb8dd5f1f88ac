import JSONRPC
import UsherCore

/// The known status of a submission: the account attribute `kyc`.
struct KYCRecord: Equatable {
  static let attribute = "kyc"

  let requestID: String
  let submissionID: String
  private(set) var status: Status
  private(set) var result: KYCStatus.Result?
  private(set) var reasonCode: String?
  let submittedAt: Timestamp
  private(set) var updatedAt: Timestamp

  /// The statuses in the order in which they can follow each other: an ERROR may become COMPLETED,
  /// which is final.
  enum Status: String, CaseIterable, Comparable {
    /// The daemon's own status: the provider has reported none yet.
    case submitted = "SUBMITTED"
    case initiated = "INITIATED"
    case inProgress = "IN_PROGRESS"
    case error = "ERROR"
    case completed = "COMPLETED"

    static func < (left: Status, right: Status) -> Bool { left.rank < right.rank }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
  }

  init(_ requestID: String, submitted submissionID: String, at now: Timestamp) {
    self.requestID = requestID
    self.submissionID = submissionID
    status = .submitted
    submittedAt = now
    updatedAt = now
  }

  init(_ requestID: String, _ reported: KYCStatus, at now: Timestamp) {
    self.init(requestID, submitted: reported.submissionID, at: now)
    status = reported.status
    result = reported.result
    reasonCode = reported.reasonCode
  }

  /// Returns the updated record; nil if the status is about another submission or is not newer.
  func updated(by reported: KYCStatus, at now: Timestamp) -> KYCRecord? {
    guard Secret(reported.submissionID) == Secret(submissionID), reported.status > status else {
      return nil
    }
    // COMPLETED is final, so it is not recorded without its result.
    if reported.status == .completed, reported.result == nil { return nil }
    var record = self
    record.status = reported.status
    record.result = reported.result
    record.reasonCode = reported.reasonCode
    record.updatedAt = now
    return record
  }
}

extension KYCRecord {
  /// Reads the record from an account's attributes; nil if a member is missing or invalid.
  init?(_ json: JSONValue?) {
    guard let requestID = json?["requestId"]?.stringValue,
      let submissionID = json?["submissionId"]?.stringValue,
      let status = json?["status"]?.stringValue.flatMap(Status.init(rawValue:)),
      let submittedAt = json?["submittedAt"]?.stringValue.flatMap(Timestamp.init(rfc3339:)),
      let updatedAt = json?["updatedAt"]?.stringValue.flatMap(Timestamp.init(rfc3339:))
    else { return nil }
    self.requestID = requestID
    self.submissionID = submissionID
    self.status = status
    result = json?["result"]?.stringValue.flatMap(KYCStatus.Result.init(rawValue:))
    reasonCode = json?["reasonCode"]?.stringValue
    self.submittedAt = submittedAt
    self.updatedAt = updatedAt
  }

  var json: JSONValue {
    [
      "requestId": .string(requestID), "submissionId": .string(submissionID),
      "status": .string(status.rawValue),
      "result": result.map { .string($0.rawValue) } ?? .null,
      "reasonCode": reasonCode.map { .string($0) } ?? .null,
      "submittedAt": .string(submittedAt.description), "updatedAt": .string(updatedAt.description),
    ]
  }

  /// The members of a flow's result in addition to the submission's id.
  var metadata: [String: JSONValue] {
    var members: [String: JSONValue] = ["status": .string(status.rawValue)]
    members["result"] = result.map { .string($0.rawValue) }
    members["reasonCode"] = reasonCode.map { .string($0) }
    return members
  }
}

extension ProviderCallback {
  /// Returns whether the call is about this submission. A sender without a valid credential cannot
  /// find out whether its ids match.
  ///
  /// - Parameter token: The user's linking token, if it is known.
  func verdict(requestID: String, submissionID: String, token: Secret?) -> CallbackVerdict {
    guard let expected = self.requestID, Secret(expected) == Secret(requestID) else {
      return .noMatch
    }
    let isTheirs = token.map { !$0.isEmpty && $0 == authorization } ?? false
    guard isVouchedFor || isTheirs else { return .unauthorized }
    guard let id = members["submissionId"]?.stringValue, Secret(id) == Secret(submissionID) else {
      return .conflict
    }
    return .match
  }
}
