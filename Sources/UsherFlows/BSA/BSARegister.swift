package import UsherAPI
package import UsherConfig
package import UsherCore

/// Registers a user with this machine as the device (seed, Sign Up; the page BSA of the
/// documentation).
package struct BSARegister: FlowMachine {
  package static let kind = "register"
  package static let summary = "Register a person and this machine's device."

  package struct Params: Codable, Sendable, Equatable {
    package var email: String
    package var phoneNumber: String
    /// The user's id: 4 to 64 letters, digits and `._-@`.
    package var userKey: String
    package var name: String
    /// `none`, `biometric` or `passcode`.
    package var authType: BSAAuthType
    /// Consent to BSA's terms of use. An absent value means no consent.
    package var agreeGccs: Bool?
    /// Consent to the privacy policy.
    package var agreePerson: Bool?
    /// Consent to the device information policy.
    package var agreeDevice: Bool?
    /// The contact by which the user is verified; default: `email`.
    package var verifyBy: BSAContact.Channel?
    /// The handle that a `verifyContact` flow returned.
    package var disposeToken: WireSecret?
    /// The SDK's `token`: the target of push messages.
    package var pushToken: String?
    /// Default: the configured version.
    package var appVersion: String?
    /// The client key that an app's SDK was configured with; must equal the configured one.
    package var clientKey: WireSecret?
    /// The app's package; must equal the configured one.
    package var appPackage: String?

    package init(
      email: String, phoneNumber: String, userKey: String, name: String, authType: BSAAuthType,
      agreeGccs: Bool?, agreePerson: Bool?, agreeDevice: Bool?
    ) {
      self.email = email
      self.phoneNumber = phoneNumber
      self.userKey = userKey
      self.name = name
      self.authType = authType
      self.agreeGccs = agreeGccs
      self.agreePerson = agreePerson
      self.agreeDevice = agreeDevice
    }

    fileprivate var missingAgreements: [String] {
      [
        (agreeGccs, "agreeGccs"), (agreePerson, "agreePerson"), (agreeDevice, "agreeDevice"),
      ].filter { $0.0 != true }.map(\.1)
    }
  }

  package let provider: Provider<BSASettings>
  private var registration: BSARegistration?
  /// Why the flow failed before any call.
  private var refusal: Failure?

  package static func begin(
    _ params: Params, _ context: FlowContext<BSASettings>, at transition: inout TransitionContext
  ) throws(UsherError) -> (BSARegister, Answer<BSACall>) {
    let provider = context.provider
    do throws(EarlyFailure) {
      try context.checkApp(params.clientKey, params.appPackage, "the appPackage")
      let missing = params.missingAgreements
      guard missing.isEmpty else {
        throw EarlyFailure(
          .impossible(
            .agreementMissing, "not agreed to: \(missing.joined(separator: ", "))",
            provider.name))
      }
      let enrolment = try enrolment(params, context)
      guard params.authType != .none || provider.settings.allowNoLocalAuth else {
        throw EarlyFailure(.noLocalAuth(provider.name))
      }
      let token = try params.disposeToken.map { handle throws(EarlyFailure) in
        try context.disposeToken(handle, for: enrolment.contact)
      }
      let (registration, answer) = BSARegistration.begin(
        .signUp, enrolment, authType: params.authType, disposeToken: token, provider,
        at: transition.now)
      return (BSARegister(provider: provider, registration: registration), answer)
    } catch {
      return (BSARegister(provider: provider, refusal: error.failure), .fail(error.failure))
    }
  }

  private static func enrolment(
    _ params: Params, _ context: FlowContext<BSASettings>
  ) throws(EarlyFailure) -> BSAEnrolment {
    let email = try context.checked("email") { () throws(InvalidBSAParameter) in
      try BSAContact(.email, params.email)
    }
    let phone = try context.checked("phoneNumber") { () throws(InvalidBSAParameter) in
      try BSAContact(.sms, params.phoneNumber)
    }
    return BSAEnrolment(
      userKey: try context.checked("userKey") { () throws(InvalidBSAParameter) in
        try BSAUserKey.checked(params.userKey)
      },
      name: try context.checked("name") { () throws(InvalidBSAParameter) in
        try BSAName.checked(params.name)
      },
      contact: params.verifyBy == .sms ? phone : email, email: email.target,
      phoneNumber: phone.target, authType: params.authType,
      pushToken: try context.line("pushToken", params.pushToken),
      appVersion: try context.line("appVersion", params.appVersion)
        ?? context.provider.settings.appVersion,
      device: BSADevice.id(params.userKey, at: context.installationID))
  }

  package var view: FlowView {
    registration?.view(provider)
      ?? FlowView(state: "sending", step: .wait(.init(for: "the number to be sent")))
  }

  package mutating func receive(
    _ event: FlowEvent<BSACall>, at transition: inout TransitionContext
  ) -> Answer<BSACall> {
    if let refusal { return event == .daemon(.resumed) ? .fail(refusal) : .ignore }
    return registration?.receive(event, provider, at: transition.now) ?? .ignore
  }

  package var isOutcomeUnknown: Bool { registration?.isOutcomeUnknown ?? false }
  package var unknownOutcomeClause: String {
    registration?.unknownOutcomeClause ?? .operationUnknown
  }
}

extension FlowContext<BSASettings> {
  /// Returns text that is sent to the provider unchanged; nil for nil.
  ///
  /// - Throws: If the text is not 1 to 4096 printable ASCII characters without spaces.
  func line(_ member: String, _ text: String?) throws(EarlyFailure) -> String? {
    guard let text else { return nil }
    guard (1...4096).contains(text.utf8.count), text.utf8.allSatisfy(\.isVisible) else {
      throw EarlyFailure(
        .impossible(
          .parameterMissing, "\(member) must be 1 to 4096 of printable ASCII without spaces",
          provider.name))
    }
    return text
  }
}
