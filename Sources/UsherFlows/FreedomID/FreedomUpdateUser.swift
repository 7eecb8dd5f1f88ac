package import UsherAPI
package import UsherConfig
package import UsherCore

/// Updates a user's data at Freedom (contract §4.2, §4.3, update user; the page FreedomID of the
/// documentation).
///
/// A call that may have succeeded is not repeated.
package struct FreedomUpdateUser: FlowMachine {
  package static let kind = "updateUser"
  package static let summary = "Changes the data that Freedom has about a user."
  package static let needsAccount = true

  package struct Params: Codable, Sendable, Equatable, FreedomUserParams {
    /// The partner's own account.
    package var account: AccountID?
    /// Required: the user's id at Freedom, a UUID.
    package var freedomId: String?
    /// `+` and 10 to 15 digits.
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
    case sending(FreedomUserErrand)
  }

  package static func begin(
    _ params: Params, _ origin: FlowContext<FreedomIDSettings>, at moment: inout TransitionContext
  ) throws(UsherError) -> (FreedomUpdateUser, Answer<FreedomPartnerCall>) {
    let provider = origin.provider.name
    guard let account = origin.account?.id else {
      throw ParamsValidation.wrong("account", "is missing")
    }
    do throws(UnfitMember) {
      guard let id = params.freedomId else { throw UnfitMember("freedomId is missing") }
      let errand = FreedomUserErrand(
        provider, account, try PartnerUser(params), id: try UnfitMember.uuid(id, "freedomId"))
      let flow = FreedomUpdateUser(provider: origin.provider, state: .sending(errand))
      return (flow, .proceed([.call(errand.call)]))
    } catch {
      let failure = Failure.invalid(error.message, provider)
      return (
        FreedomUpdateUser(provider: origin.provider, state: .refused(failure)), .fail(failure)
      )
    }
  }

  package var view: FlowView {
    switch state {
    case .refused: FlowView(state: "sending", step: .wait(.init(for: "nothing")))
    case .sending(let errand): errand.view
    }
  }

  package mutating func receive(
    _ event: FlowEvent<FreedomPartnerCall>, at moment: inout TransitionContext
  ) -> Answer<FreedomPartnerCall> {
    switch state {
    case .refused(let failure): return event == .daemon(.resumed) ? .fail(failure) : .ignore
    case .sending(var errand):
      let answer = errand.receive(event)
      state = .sending(errand)
      return answer
    }
  }

  package var isOutcomeUnknown: Bool {
    switch state {
    case .refused: false
    case .sending(let errand): errand.isOutcomeUnknown
    }
  }

  package static func word(
    for ending: Failure.Reason, provider: ProviderName
  ) -> ProviderErrorCode? { FreedomIDWord.ending(ending, provider) }
}
