import omp from "./omp.cjs";

export const { openStorage, SessionStorage, SessionStorageBackend } = omp;
export default omp;
