import UsherKit

struct PhoneSignUp {
  var sdk = TCTrueSDK.sharedManager()
  /// Asks the person for the code from the SMS and for a name. `seconds` is the time left until the
  /// code expires.
  let ask: (_ seconds: Int) async -> (code: String, firstName: String, lastName: String)

  /// Verifies a number. If it was verified before, the profile arrives without a code.
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
        // While a code is expected and has not expired, only this attempt has failed.
        guard let left = sdk.tokenTtl(), left > 0 else { throw error }
        print(error.message)
      }
    }
  }
}
