import UsherKit

struct PhoneSignUp {
  var sdk = TCTrueSDK.sharedManager()
  /// Asks for the code in the SMS and for a name: there are so many seconds left for it.
  let ask: (_ seconds: Int) async -> (code: String, firstName: String, lastName: String)

  /// Verifies a number; who has verified it before is not asked for a code.
  func verify(phone: String, countryCode: String) async throws -> TCTrueProfile {
    for await event in sdk.verification(forPhone: phone, countryCode: countryCode) {
      switch event {
      case .state(.otpInitiated): return try await enterCode()
      case .state: continue
      case .profile(let profile): return profile
      case .failed(let error): throw error
      }
    }
    throw CancellationError()
  }

  private func enterCode() async throws -> TCTrueProfile {
    while true {
      let typed = await ask(sdk.tokenTtl() ?? 0)
      do {
        return try await sdk.verify(
          code: typed.code, firstName: typed.firstName, lastName: typed.lastName)
      } catch {
        // It was just this attempt, as long as a code is waited for and its time is not over.
        guard let left = sdk.tokenTtl(), left > 0 else { throw error }
        print(error.message)
      }
    }
  }
}
