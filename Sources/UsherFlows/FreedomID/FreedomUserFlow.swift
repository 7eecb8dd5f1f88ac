package import UsherAPI
package import UsherConfig
package import UsherCore

/// Creates a user at Freedom (contract §4.2, §4.3, create user; the page FreedomID of the
/// documentation).
package struct FreedomCreateUser: FreedomUserFlow {
  package static let kind = "createUser"
  package static let summary = "Creates a user at Freedom."

  package struct Params: FreedomUserParams, Equatable {
    package var account: AccountID?
    package var phone: String?
    package var email: String?
    package var firstname: String?
    package var lastname: String?
    package var dateOfBirth: String?
    package var identifier: String?
    package var country: String?
    package var gender: String?
    package var nationality: String?

    package var freedomId: String? { nil }
    package var missingMember: String? { phone == nil ? "phone" : nil }
  }

  package let provider: Provider<FreedomIDSettings>
  package var state: FreedomUserState

  package init(provider: Provider<FreedomIDSettings>, state: FreedomUserState) {
    self.provider = provider
    self.state = state
  }
}

/// Updates a user's data at Freedom (contract §4.2, §4.3, update user; the page FreedomID of the
/// documentation).
package struct FreedomUpdateUser: FreedomUserFlow {
  package static let kind = "updateUser"
  package static let summary = "Changes the data that Freedom has about a user."

  package struct Params: FreedomUserParams, Equatable {
    package var account: AccountID?
    package var freedomId: String?
    package var phone: String?
    package var email: String?
    package var firstname: String?
    package var lastname: String?
    package var dateOfBirth: String?
    package var identifier: String?
    package var country: String?
    package var gender: String?
    package var nationality: String?

    package var missingMember: String? { freedomId == nil ? "freedomId" : nil }
  }

  package let provider: Provider<FreedomIDSettings>
  package var state: FreedomUserState

  package init(provider: Provider<FreedomIDSettings>, state: FreedomUserState) {
    self.provider = provider
    self.state = state
  }
}

/// The parameters of a flow that creates or updates a user (contract §4.3, create user).
package protocol FreedomUserParams: Codable, Sendable, SchemaDocumented {
  /// The user's id at Freedom, a UUID; nil to create a user.
  var freedomId: String? { get }
  var phone: String? { get }
  var email: String? { get }
  var firstname: String? { get }
  var lastname: String? { get }
  var dateOfBirth: String? { get }
  var identifier: String? { get }
  var country: String? { get }
  var gender: String? { get }
  var nationality: String? { get }

  /// The name of the required parameter if it is missing.
  var missingMember: String? { get }
}

/// A flow that sends a user's data to Freedom with the partner's own account.
///
/// A call that may have succeeded is not repeated.
package protocol FreedomUserFlow: FlowMachine
where Call == FreedomPartnerCall, Params: FreedomUserParams {
  var state: FreedomUserState { get set }

  init(provider: Provider<FreedomIDSettings>, state: FreedomUserState)
}

package enum FreedomUserState: Codable, Sendable, Equatable {
  /// Failed before any call.
  case refused(Failure)
  /// → the end
  case sending(FreedomUserRequest)
}

extension FreedomUserFlow {
  package static var needsAccount: Bool { true }

  package static func begin(
    _ params: Params, _ context: FlowContext<FreedomIDSettings>,
    at transition: inout TransitionContext
  ) throws(UsherError) -> (Self, Answer<FreedomPartnerCall>) {
    let provider = context.provider
    let account = try ParamsValidation.account(context)
    do throws(InvalidValue) {
      if let name = params.missingMember { throw InvalidValue("\(name) is missing") }
      let user = try PartnerUser(params)
      let id = try params.freedomId.map { id throws(InvalidValue) in
        try FreedomParameter.uuid(id, "freedomId")
      }
      let request = FreedomUserRequest(provider.name, account, user, id: id)
      return (Self(provider: provider, state: .sending(request)), .proceed([.call(request.call)]))
    } catch {
      let failure = Failure.invalid(error.message, provider.name)
      return (Self(provider: provider, state: .refused(failure)), .fail(failure))
    }
  }

  package var view: FlowView {
    switch state {
    case .refused: FlowView(state: "sending", step: .wait(.init(for: "nothing")))
    case .sending(let request): request.view
    }
  }

  package mutating func receive(
    _ event: FlowEvent<FreedomPartnerCall>, at transition: inout TransitionContext
  ) -> Answer<FreedomPartnerCall> {
    switch state {
    case .refused(let failure): return event == .daemon(.resumed) ? .fail(failure) : .ignore
    case .sending(var request):
      let answer = request.receive(event)
      state = .sending(request)
      return answer
    }
  }

  package var isOutcomeUnknown: Bool {
    switch state {
    case .refused: false
    case .sending(let request): request.isOutcomeUnknown
    }
  }

  package static func providerErrorCode(
    for ending: Failure.Reason, provider: ProviderName
  ) -> ProviderErrorCode? { FreedomIDErrorCode.ending(ending, provider) }
}
