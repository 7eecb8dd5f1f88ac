package import UsherAPI
package import UsherConfig
package import UsherCore

/// Creates a user at Freedom (contract §4.2, §4.3, create user; the page FreedomID of the
/// documentation).
///
/// A call that may have succeeded is not repeated.
package struct FreedomCreateUser: FlowMachine {
  package static let kind = "createUser"
  package static let summary = "Creates a user at Freedom."
  package static let needsAccount = true

  package struct Params: Codable, Sendable, Equatable, FreedomUserParams {
    /// The partner's own account.
    package var account: AccountID?
    /// Required: `+` and 10 to 15 digits.
    package var phone: String?
    package var email: String?
    package var firstname: String?
    package var lastname: String?
    /// `YYYY-MM-DD`.
    package var dateOfBirth: String?
    /// For example the citizen's ID.
    package var identifier: String?
    /// An ISO 3166-1 code of three letters: `KAZ`.
    package var country: String?
    /// `M` or `F`.
    package var gender: String?
    package var nationality: String?

    package init() {}
  }

  package let provider: Provider<FreedomIDSettings>
  private var state: State

  private enum State: Codable, Sendable, Equatable {
    /// Failed before any call.
    case refused(Failure)
    /// → the end
    case sending(FreedomUserRequest)
  }

  package static func begin(
    _ params: Params, _ context: FlowContext<FreedomIDSettings>,
    at transition: inout TransitionContext
  ) throws(UsherError) -> (FreedomCreateUser, Answer<FreedomPartnerCall>) {
    let provider = context.provider.name
    guard let account = context.account?.id else {
      throw ParamsValidation.wrong("account", "is missing")
    }
    do throws(InvalidUserParameter) {
      guard params.phone != nil else { throw InvalidUserParameter("phone is missing") }
      let request = FreedomUserRequest(provider, account, try PartnerUser(params), id: nil)
      let flow = FreedomCreateUser(provider: context.provider, state: .sending(request))
      return (flow, .proceed([.call(request.call)]))
    } catch {
      let failure = Failure.invalid(error.message, provider)
      return (
        FreedomCreateUser(provider: context.provider, state: .refused(failure)), .fail(failure)
      )
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
