package import UsherAPI
package import UsherConfig
package import UsherCore

/// Creates a user at Freedom ID (provider contract §4.2, §4.3, create user; page FreedomID in
/// Usher.docc).
package typealias FreedomCreateUser = FreedomUserFlow<FreedomCreateUserParams>

package struct FreedomCreateUserParams: FreedomUserParams {
  package static let kind = "createUser"
  package static let summary = "Creates a user at Freedom."

  /// The partner's own account.
  package var account: AccountID?

  package var freedomId: String? { nil }
  package func missingMember(_ user: PartnerUser) -> String? { user.phone == nil ? "phone" : nil }
}

/// Updates a user's data at Freedom ID (provider contract §4.2, §4.3, update user; page FreedomID
/// in Usher.docc).
package typealias FreedomUpdateUser = FreedomUserFlow<FreedomUpdateUserParams>

package struct FreedomUpdateUserParams: FreedomUserParams {
  package static let kind = "updateUser"
  package static let summary = "Changes the data that Freedom has about a user."

  /// The partner's own account.
  package var account: AccountID?
  /// Required: the user's id at Freedom, a UUID.
  package var freedomId: String?

  package func missingMember(_: PartnerUser) -> String? { freedomId == nil ? "freedomId" : nil }
}

/// The parameters of a flow that creates or updates a user, without the user's data (provider
/// contract §4.3, create user).
package protocol FreedomUserParams: Codable, Sendable, SchemaDocumented {
  /// See ``FlowMachine/kind``.
  static var kind: String { get }
  /// See ``FlowMachine/summary``.
  static var summary: String { get }
  /// See ``FlowMachine/resultMembers``.
  static var resultMembers: [Schema.Member] { get }
  /// See ``FlowMachine/example``.
  static var example: FlowExample { get }

  /// The user's id at Freedom ID, a UUID; nil to create a user.
  var freedomId: String? { get }

  /// Returns the name of the parameter that the flow requires and that is missing; nil if none is.
  func missingMember(_ user: PartnerUser) -> String?
}

/// A flow that sends a user's data to Freedom ID with the access token of the partner's own
/// account.
///
/// A call that may have succeeded is not repeated.
package struct FreedomUserFlow<OwnParams: FreedomUserParams>: FreedomFlow {
  package typealias Call = FreedomPartnerCall
  package typealias Params = ComposedParams<OwnParams, PartnerUser>
  package static var kind: String { OwnParams.kind }
  package static var summary: String { OwnParams.summary }
  package static var resultMembers: [Schema.Member] { OwnParams.resultMembers }
  package static var example: FlowExample { OwnParams.example }
  package static var needsAccount: Bool { true }

  package let provider: Provider<FreedomIDSettings>
  /// The state; nil if the flow failed before any call to Freedom ID.
  private var state: State?

  private enum State: Codable, Sendable, Equatable {
    /// Sends the data to Freedom ID. Next: the end.
    case sending(FreedomUserRequest)
  }

  package static func begin(
    _ params: Params, _ context: FlowContext<FreedomIDSettings>,
    at transition: inout TransitionContext
  ) throws(UsherError) -> (Self, Answer<Call>) {
    let provider = context.provider
    let account = try ParamsValidation.account(context)
    do throws(InvalidValue) {
      if let name = params.own.missingMember(params.common) {
        throw InvalidValue("\(name) is missing")
      }
      let user = try params.common.checked()
      let id = try params.own.freedomId.map { id throws(InvalidValue) in
        try FreedomParameter.uuid(id, "freedomId")
      }
      let request = FreedomUserRequest(
        provider: provider.name, account: account, user: user, id: id)
      return (Self(provider: provider, state: .sending(request)), .proceed([.call(request.call)]))
    } catch {
      return (Self(provider: provider, state: nil), .fail(.invalid(error.message, provider.name)))
    }
  }

  package var view: FlowView {
    switch state {
    case nil: FlowView(state: "sending", step: .wait(.init(for: "nothing")))
    case .sending(let request): request.view
    }
  }

  package mutating func receive(
    _ event: FlowEvent<Call>, at transition: inout TransitionContext
  ) -> Answer<Call> {
    switch state {
    case nil: return .ignore
    case .sending(var request):
      let answer = request.receive(event)
      state = .sending(request)
      return answer
    }
  }

  package var unknownOutcome: String? {
    if case .sending(let request) = state, request.isUnderWay { .operationUnknown } else { nil }
  }
}
