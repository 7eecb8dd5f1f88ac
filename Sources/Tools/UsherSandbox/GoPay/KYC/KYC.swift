import FoundationEssentials

/// The KYC state of a submission.
enum KYC: Sendable, Hashable {
  case initiated
  case inProgress
  case completed(isValid: Bool, reason: String?)
  case error(reason: String?)

  var status: String {
    switch self {
    case .initiated: "INITIATED"
    case .inProgress: "IN_PROGRESS"
    case .completed: "COMPLETED"
    case .error: "ERROR"
    }
  }

  var result: String? {
    switch self {
    case .initiated, .inProgress, .error: nil
    case .completed(let isValid, _): isValid ? "VALID" : "INVALID"
    }
  }

  var reason: String? {
    switch self {
    case .initiated, .inProgress: nil
    case .completed(_, let reason), .error(let reason): reason
    }
  }

  /// Whether the partner gets a callback for this state.
  var isFinal: Bool {
    switch self {
    case .initiated, .inProgress: false
    case .completed, .error: true
    }
  }
}

extension GoPayBackendSettings {
  /// The verdict that each submission gets without a control call; nil if a test must set it.
  var ownVerdict: KYC? {
    let reason = reasonCode.isEmpty ? nil : reasonCode
    return switch verdict {
    case .none: nil
    case .valid: .completed(isValid: true, reason: reason)
    case .invalid: .completed(isValid: false, reason: reason)
    case .error: .error(reason: reason)
    }
  }
}

extension Submission {
  /// The KYC state: the one that a test set, else the one for the time since the submission.
  ///
  /// - Returns: Nil if card and face were not submitted.
  func kyc(_ settings: GoPayBackendSettings, now: Date) -> KYC? {
    guard let submitted else { return nil }
    if let moved { return moved }
    guard let verdict = settings.ownVerdict else { return .initiated }
    let passed = now.timeIntervalSince(submitted)
    if passed >= Double(settings.verdictSeconds) { return verdict }
    return passed * 2 >= Double(settings.verdictSeconds) ? .inProgress : .initiated
  }

  /// The response to a pull. It has documents and data of the card, which clients must discard.
  func identityRecord(_ settings: GoPayBackendSettings, now: Date) -> [String: JSON] {
    var kyc = kyc(settings, now: now) ?? .initiated
    if case .error = kyc, !settings.pullsError { kyc = .inProgress }
    var members: [String: JSON] = [
      "status": .string(kyc.status), "result": kyc.result.map { .string($0) } ?? .null,
      "submissionId": .string(id), "partner": .string(GoPayPartner.name.uppercased()),
      "onboardingPartner": .string(GoPayPartner.name.uppercased()),
      "documents": [
        [
          "documentType": "KTP_IMAGE",
          "url": "https://documents.example.com/ktp-image-of-nobody.jpg",
          "expiresAt": .string(SnapTimestamp(now.addingTimeInterval(600)).text),
        ]
      ],
      "submissionData": [
        "ktp": [
          "nik": "3171000000000000", "name": .string(person.name), "birthDate": "1990-01-01",
        ]
      ],
      "createdAt": .string(SnapTimestamp(created).text),
      "updatedAt": .string(SnapTimestamp(updated ?? submitted ?? created).text),
    ]
    members["reasonCode"] = kyc.reason.map { .string($0) }
    return members
  }
}
