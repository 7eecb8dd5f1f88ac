package import UsherAPI
package import UsherConfig
package import UsherCore

/// Registers a user with this machine as the device (SDK documentation, Sign Up; page BSA in
/// Usher.docc).
package typealias BSARegister = BSARegistrationFlow<BSARegisterParams>

package struct BSARegisterParams: BSARegistrationParams {
  package static let kind = "register"
  package static let summary = "Register a person and this machine's device."
  package static let purpose = BSARegistration.Purpose.signUp

  /// The user's e-mail address.
  package var email: String
  /// The user's phone number.
  package var phoneNumber: String
  /// The user's id at BSA, which decides which ids it accepts.
  package var userKey: String
  /// The user's name.
  package var name: String
  /// How the user authenticates at this machine: `none`, `biometric` or `passcode`.
  package var authType: BSAAuthType
  /// Consent to BSA's terms of use. An absent value means no consent.
  package var agreeGccs: Bool?
  /// Consent to the privacy policy.
  package var agreePerson: Bool?
  /// Consent to the device information policy.
  package var agreeDevice: Bool?
  /// The contact by which the user is verified; default: `email`.
  package var verifyBy: BSAContact.Channel?

  package var requestedType: BSAAuthType? { authType }

  package var missingAgreements: [String] {
    [(agreeGccs, "agreeGccs"), (agreePerson, "agreePerson"), (agreeDevice, "agreeDevice")]
      .filter { $0.0 != true }.map(\.1)
  }

  package func contacts(
    _ context: FlowContext<BSASettings>
  ) throws(Failure) -> BSAEnrolment.Contacts {
    let email = try context.contact("email", .email, email)
    let phone = try context.contact("phoneNumber", .sms, phoneNumber)
    return .init(
      verified: verifyBy == .sms ? phone : email, email: email.target, phone: phone.target)
  }
}

/// Replaces the device that a user has registered by this machine (provider contract §5.6,
/// REREGISTER; page BSA in Usher.docc).
package typealias BSAReregisterDevice = BSARegistrationFlow<BSAReregisterDeviceParams>

package struct BSAReregisterDeviceParams: BSARegistrationParams {
  package static let kind = "reregisterDevice"
  package static let summary = "Replace a registered device with this machine's device."
  package static let purpose = BSARegistration.Purpose.replacement

  /// The user's id at BSA, which decides which ids it accepts.
  package var userKey: String
  /// The user's name.
  package var name: String
  /// The contact by which the user is verified: `email` or `sms`.
  package var verifyBy: BSAContact.Channel
  /// The user's registered e-mail address or phone number.
  package var verifyData: String
  /// How the user authenticates at this machine: `none`, `biometric` or `passcode`. Default: the
  /// registered method.
  package var authType: BSAAuthType?

  package var requestedType: BSAAuthType? { authType }
  package var missingAgreements: [String] { [] }

  package func contacts(
    _ context: FlowContext<BSASettings>
  ) throws(Failure) -> BSAEnrolment.Contacts {
    .init(verified: try context.contact("verifyData", verifyBy, verifyData))
  }
}

/// The parameters of `register` and `reregisterDevice` that the app or an earlier flow provides.
package struct BSAAppParams: Codable, Sendable, SchemaDocumented {
  /// The handle that a `verifyContact` flow returned.
  var disposeToken: WireSecret?
  /// The target of push messages; the SDK calls it `token`.
  var pushToken: String?
  /// The version of the app; default: the configured version.
  var appVersion: String?
  /// The client key that an app's SDK was configured with; must equal the configured one.
  var clientKey: WireSecret?
  /// The app's package; must equal the configured one.
  var appPackage: String?
}

/// The parameters of `register` or of `reregisterDevice` besides ``BSAAppParams``, which the two
/// flows share.
package protocol BSARegistrationParams: Codable, Sendable, SchemaDocumented {
  /// See ``FlowMachine/kind``.
  static var kind: String { get }
  /// See ``FlowMachine/summary``.
  static var summary: String { get }
  /// See ``FlowMachine/example``.
  static var example: FlowExample { get }
  static var purpose: BSARegistration.Purpose { get }

  var userKey: String { get }
  var name: String { get }

  /// The requested authentication method; nil to keep the one that BSA has registered.
  var requestedType: BSAAuthType? { get }
  /// The names of the required consents that the user has not given.
  var missingAgreements: [String] { get }

  func contacts(_ context: FlowContext<BSASettings>) throws(Failure) -> BSAEnrolment.Contacts
}

/// A flow that registers this machine as the user's device; ``BSARegistration`` does the work.
package struct BSARegistrationFlow<OwnParams: BSARegistrationParams>: FlowMachine {
  package typealias Call = BSACall
  package typealias Params = ComposedParams<OwnParams, BSAAppParams>
  package static var kind: String { OwnParams.kind }
  package static var summary: String { OwnParams.summary }
  package static var example: FlowExample { OwnParams.example }

  package let provider: Provider<BSASettings>
  private var registration: BSARegistration?
  /// The failure of a flow that failed before any call; nil for any other flow.
  private var refusal: Failure?

  package static func begin(
    _ params: Params, _ context: FlowContext<BSASettings>, at transition: inout TransitionContext
  ) throws(UsherError) -> (Self, Answer<Call>) {
    let provider = context.provider
    do throws(Failure) {
      try context.checkApp(params.clientKey, params.appPackage, "the appPackage")
      let missing = params.own.missingAgreements.joined(separator: ", ")
      guard missing.isEmpty else {
        throw .impossible(.agreementMissing, "not agreed to: \(missing)", provider.name)
      }
      let enrolment = try enrolment(params, context)
      let type = params.own.requestedType
      if type == BSAAuthType.none, !provider.settings.allowNoLocalAuth {
        throw .noLocalAuth(provider.name)
      }
      guard params.disposeToken == nil || type != nil else {
        throw .impossible(
          .parameterMissing, "authType is required if a disposeToken is given", provider.name)
      }
      let token = try params.disposeToken.map { handle throws(Failure) in
        try context.disposeToken(handle, for: enrolment.contact)
      }
      let (registration, answer) = BSARegistration.begin(
        OwnParams.purpose, enrolment, authType: type, disposeToken: token, context,
        at: transition.now)
      return (Self(provider: provider, registration: registration, refusal: nil), answer)
    } catch {
      return (Self(provider: provider, registration: nil, refusal: error), .fail(error))
    }
  }

  private static func enrolment(
    _ params: Params, _ context: FlowContext<BSASettings>
  ) throws(Failure) -> BSAEnrolment {
    let own = params.own
    let contacts = try own.contacts(context)
    return BSAEnrolment(
      userKey: try context.checked("userKey", try BSAUserKey.checked(own.userKey)),
      name: try context.checked("name", try BSAText.checked(own.name)),
      contact: contacts.verified, email: contacts.email, phoneNumber: contacts.phone,
      authType: own.requestedType ?? .none,
      pushToken: try context.text("pushToken", params.pushToken),
      appVersion: try context.text("appVersion", params.appVersion)
        ?? context.provider.settings.appVersion,
      device: BSADevice.id(own.userKey, at: context.installationID))
  }

  package var view: FlowView {
    registration?.view(provider)
      ?? FlowView(state: "sending", step: .wait(.init(for: "the number to be sent")))
  }

  package mutating func receive(
    _ event: FlowEvent<Call>, at transition: inout TransitionContext
  ) -> Answer<Call> {
    if let refusal { return event == .daemon(.resumed) ? .fail(refusal) : .ignore }
    let provider = provider
    return registration?.receive(event, provider, at: transition.now) ?? .ignore
  }

  package var unknownOutcome: String? { registration?.unknownOutcome }
}

extension BSAEnrolment {
  /// The contacts of the user in a registration.
  package struct Contacts {
    /// The contact that the user verifies.
    let verified: BSAContact
    /// The e-mail address of a new user; nil if the user is already registered at BSA.
    var email: String?
    var phone: String?
  }
}

extension FlowContext<BSASettings> {
  fileprivate func contact(
    _ member: String, _ channel: BSAContact.Channel, _ text: String
  ) throws(Failure) -> BSAContact {
    try checked(member, try BSAContact(channel, text))
  }

  /// Returns text that is sent to the provider unchanged; nil for nil.
  ///
  /// - Throws: If the text cannot be sent.
  fileprivate func text(_ member: String, _ text: String?) throws(Failure) -> String? {
    guard let text else { return nil }
    return try checked(member, try BSAText.checked(text, limit: 4096))
  }

  /// Returns text that is sent in a URL; nil for nil.
  ///
  /// - Throws: If the text is not 1 to 4096 printable ASCII characters without spaces.
  func line(_ member: String, _ text: String?) throws(Failure) -> String? {
    guard let text else { return nil }
    guard text.isVisible(upTo: 4096) else {
      throw .impossible(
        .parameterMissing, "\(member) must be 1 to 4096 of printable ASCII without spaces",
        provider.name)
    }
    return text
  }
}
