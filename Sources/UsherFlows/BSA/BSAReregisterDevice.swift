package import UsherAPI
package import UsherConfig
package import UsherCore

/// Replaces the device that a user has registered with this machine's (contract §5.6, REREGISTER;
/// the page BSA of the documentation).
package struct BSAReregisterDevice: FlowMachine {
  package static let kind = "reregisterDevice"
  package static let summary = "Replace a registered device with this machine's device."

  package struct Params: Codable, Sendable, Equatable {
    package var userKey: String
    package var name: String
    /// `email` or `sms`.
    package var verifyBy: BSAContact.Channel
    /// The user's registered e-mail address or phone number.
    package var verifyData: String
    /// Default: the registered method.
    package var authType: BSAAuthType?
    /// The handle that a `verifyContact` flow returned.
    package var disposeToken: WireSecret?
    /// The target of push messages.
    package var pushToken: String?
    /// Default: the configured version.
    package var appVersion: String?
    /// The client key that an app's SDK was configured with; must equal the configured one.
    package var clientKey: WireSecret?
    /// The app's package; must equal the configured one.
    package var appPackage: String?

    package init(
      userKey: String, name: String, verifyBy: BSAContact.Channel, verifyData: String
    ) {
      self.userKey = userKey
      self.name = name
      self.verifyBy = verifyBy
      self.verifyData = verifyData
    }
  }

  package let provider: Provider<BSASettings>
  private var registration: BSARegistration?
  /// Why the flow failed before any call.
  private var refusal: Failure?

  package static func begin(
    _ params: Params, _ context: FlowContext<BSASettings>, at transition: inout TransitionContext
  ) throws(UsherError) -> (BSAReregisterDevice, Answer<BSACall>) {
    let provider = context.provider
    do throws(EarlyFailure) {
      try context.checkApp(params.clientKey, params.appPackage, "the appPackage")
      let enrolment = try enrolment(params, context)
      if params.authType == BSAAuthType.none, !provider.settings.allowNoLocalAuth {
        throw EarlyFailure(.noLocalAuth(provider.name))
      }
      guard params.disposeToken == nil || params.authType != nil else {
        throw EarlyFailure(
          .impossible(
            .parameterMissing, "authType is required if a disposeToken is given",
            provider.name))
      }
      let token = try params.disposeToken.map { handle throws(EarlyFailure) in
        try context.disposeToken(handle, for: enrolment.contact)
      }
      let (registration, answer) = BSARegistration.begin(
        .replacement, enrolment, authType: params.authType, disposeToken: token, provider,
        at: transition.now)
      return (BSAReregisterDevice(provider: provider, registration: registration), answer)
    } catch {
      let flow = BSAReregisterDevice(provider: provider, refusal: error.failure)
      return (flow, .fail(error.failure))
    }
  }

  private static func enrolment(
    _ params: Params, _ context: FlowContext<BSASettings>
  ) throws(EarlyFailure) -> BSAEnrolment {
    let contact = try context.checked("verifyData") { () throws(InvalidBSAParameter) in
      try BSAContact(params.verifyBy, params.verifyData)
    }
    return BSAEnrolment(
      userKey: try context.checked("userKey") { () throws(InvalidBSAParameter) in
        try BSAUserKey.checked(params.userKey)
      },
      name: try context.checked("name") { () throws(InvalidBSAParameter) in
        try BSAName.checked(params.name)
      },
      contact: contact, email: nil, phoneNumber: nil, authType: params.authType ?? .none,
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
